package drivertest

import (
	"context"
	"errors"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// Broken is a lock that is broken in a known way, and the law that it does not obey.
type Broken struct {
	Wrap func(lock.Backend) lock.Backend
	Law  string
}

// ATokenOfItsOwn has all grants have one token.
var ATokenOfItsOwn = Broken{func(b lock.Backend) lock.Backend { return renumbered{b} }, "tokens grow after a release"}

// AnUnlockThatIsNever unlocks nothing.
var AnUnlockThatIsNever = Broken{func(b lock.Backend) lock.Backend { return kept{b} }, "the holder is told on unlock"}

// Catches sees that the law catches the lock, whose right form is s.
func (broken Broken) Catches(ctx context.Context, t *testing.T, s locktest.Subject) {
	t.Helper()
	open := s.Open
	s.Open = func(ctx context.Context) (locktest.Client, error) {
		c, err := open(ctx)
		if err == nil {
			c.Backend = broken.Wrap(c.Backend)
		}
		return c, err
	}
	if err := Law(t, broken.Law).Check(ctx, s); err == nil || errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("the law %q is obeyed: %v", broken.Law, err)
	}
}

type renumbered struct{ lock.Backend }

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

type kept struct{ lock.Backend }

func (k kept) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	t, err := k.Backend.Lock(ctx, scope)
	return never{t}, err
}

type never struct{ lock.Tenure }

func (never) Unlock(context.Context) error { return nil }
