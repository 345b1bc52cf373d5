package natslock_test

import (
	"context"
	"errors"
	"testing"

	"github.com/fencelab/fencelab/internal/drivers/drivertest"
	"github.com/fencelab/fencelab/internal/tools/need"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
	"github.com/fencelab/fencelab/pkg/lock/natslock"
)

func TestLaws(t *testing.T) { locktest.Run(t, subject(start(t, 1).Members[0].Addr, ttl)) }

// TestLawsOfRestarts: a server that is killed and started again has all locks. Leases are longer
// here than that takes.
func TestLawsOfRestarts(t *testing.T) {
	m := start(t, 1).Members[0]
	s := subject(m.Addr, long)
	s.Restart = func(ctx context.Context) error { return errors.Join(m.Process().Kill(), m.Restart(ctx)) }
	drivertest.LawsOfRestarts(t, s)
}

// TestLawsOfLostLeaders: so have three servers whose leader is killed and started again.
func TestLawsOfLostLeaders(t *testing.T) {
	need.Night(t, "to wait for elections")
	c := start(t, 3)
	s := subject(c.Members[0].Addr, long)
	s.Restart = func(ctx context.Context) error {
		leader, err := c.Leader(ctx)
		if err != nil {
			return err
		}
		return errors.Join(leader.Process().Kill(), leader.Restart(ctx))
	}
	drivertest.LawsOfRestarts(t, s)
}

// TestLawsCatch: locks that are broken in a known way do not obey the laws.
func TestLawsCatch(t *testing.T) {
	addr := start(t, 1).Members[0].Addr
	for name, broken := range map[string]struct {
		wrap func(*natslock.Backend) lock.Backend
		law  string
	}{
		"a token of its own":      {func(b *natslock.Backend) lock.Backend { return renumbered{b} }, "tokens grow after a release"},
		"an unlock that is never": {func(b *natslock.Backend) lock.Backend { return kept{b} }, "the holder is told on unlock"},
	} {
		t.Run(name, func(t *testing.T) {
			s := subject(addr, ttl)
			s.Open = func(ctx context.Context) (locktest.Client, error) {
				c, b, err := client(ctx, addr, ttl)
				c.Backend = broken.wrap(b)
				return c, err
			}
			if err := drivertest.Law(t, broken.law).Check(bounded(t), s); err == nil || errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("the law %q is obeyed: %v", broken.law, err)
			}
		})
	}
}

// renumbered has all grants have one token.
type renumbered struct{ *natslock.Backend }

func (r renumbered) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	t, err := r.Backend.Lock(ctx, scope)
	return numbered{t}, err
}

type numbered struct{ lock.Tenure }

func (n numbered) Grant() lock.Grant {
	g := n.Tenure.Grant()
	g.Token = fence.Token(1)
	return g
}

// kept unlocks nothing.
type kept struct{ *natslock.Backend }

func (k kept) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	t, err := k.Backend.Lock(ctx, scope)
	return never{t}, err
}

type never struct{ lock.Tenure }

func (never) Unlock(context.Context) error { return nil }
