package eslock_test

import (
	"context"
	"errors"
	"testing"

	"github.com/fencelab/fencelab/internal/drivers/drivertest"
	"github.com/fencelab/fencelab/internal/service/elasticsearch/estest"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/eslock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

func TestLaws(t *testing.T) {
	addr := node.Get(t).Addr
	locktest.Run(t, subject(addr, ttl, created(t, addr)))
}

// TestLawsOfRestarts: a node that is killed and started again has all locks. Leases are longer
// here than that takes.
func TestLawsOfRestarts(t *testing.T) {
	own := estest.Start(t)
	s := subject(own.Addr, long, created(t, own.Addr))
	s.Restart = func(ctx context.Context) error { return errors.Join(own.Kill(), own.Restart(ctx)) }
	drivertest.LawsOfRestarts(t, s)
}

// TestLawsCatch: locks that are broken in a known way do not obey the laws.
func TestLawsCatch(t *testing.T) {
	addr := node.Get(t).Addr
	index := created(t, addr)
	for name, broken := range map[string]struct {
		wrap func(*eslock.Backend) lock.Backend
		law  string
	}{
		"writers that are readers": {func(b *eslock.Backend) lock.Backend { return lock.Shared(b) }, "one tenure at a time"},
		"a token of its own":       {func(b *eslock.Backend) lock.Backend { return renumbered{b} }, "tokens grow after a release"},
		"an unlock that is never":  {func(b *eslock.Backend) lock.Backend { return kept{b} }, "the holder is told on unlock"},
	} {
		t.Run(name, func(t *testing.T) {
			s := subject(addr, ttl, index)
			s.Open = func(context.Context) (locktest.Client, error) {
				c, b, err := client(addr, ttl, index)
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
type renumbered struct{ *eslock.Backend }

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
type kept struct{ *eslock.Backend }

func (k kept) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	t, err := k.Backend.Lock(ctx, scope)
	return never{t}, err
}

type never struct{ lock.Tenure }

func (never) Unlock(context.Context) error { return nil }
