package lock_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// local is a lock of one's own, for one process: it has no TTL, because its holder
// and the lock end together.
type local struct {
	scopes sync.Map     // of chan struct{}, full while the scope is locked
	tokens atomic.Int64 // given out so far
}

func (l *local) scope(name string) chan struct{} {
	held, _ := l.scopes.LoadOrStore(name, make(chan struct{}, 1))
	return held.(chan struct{})
}

func (l *local) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case l.scope(scope) <- struct{}{}:
		return l.grant(scope), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *local) TryLock(ctx context.Context, scope string) (lock.Tenure, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case l.scope(scope) <- struct{}{}:
		return l.grant(scope), nil
	default:
		return nil, lock.ErrLocked
	}
}

// grant draws the token when the lock is held, so that tokens are in its order.
func (l *local) grant(scope string) lock.Tenure {
	n := l.tokens.Add(1)
	return &localTenure{
		grant: lock.Grant{Scope: scope, Owner: fmt.Sprint("tenure ", n), Token: fence.Token(n)},
		held:  l.scope(scope),
		done:  make(chan struct{}),
	}
}

type localTenure struct {
	grant    lock.Grant
	held     chan struct{}
	done     chan struct{}
	unlocked atomic.Bool
}

func (t *localTenure) Grant() lock.Grant     { return t.grant }
func (t *localTenure) Done() <-chan struct{} { return t.done }
func (t *localTenure) Err() error            { return nil }

func (t *localTenure) Unlock(context.Context) error {
	if t.unlocked.Swap(true) {
		return lock.ErrLost
	}
	close(t.done)
	<-t.held
	return nil
}

// A lock of one's own is a Backend. Package locktest has the laws that it has to obey.
func ExampleBackend() {
	l := new(local)
	for range 2 {
		err := lock.Do(context.Background(), l, "/orders", func(_ context.Context, g lock.Grant) error {
			_, err := l.TryLock(context.Background(), "/orders")
			fmt.Println(g.Token, g.Mode, err)
			return nil
		})
		fmt.Println(err)
	}
	// Output:
	// 1 exclusive lock: locked by another tenure
	// <nil>
	// 2 exclusive lock: locked by another tenure
	// <nil>
}
