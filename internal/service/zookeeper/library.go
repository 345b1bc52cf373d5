package zookeeper

import (
	"context"
	"sync"

	"github.com/go-zookeeper/zk"
)

// libraryLock is the Lock of package zk for one attempt. It knows no contexts: who does not
// want to wait any more leaves it to itself, and it gives back what it gets.
type libraryLock struct {
	of     *asking
	lock   *zk.Lock
	locked chan error // gets the end of its wait
	held   bool       // it has the lock, and can unlock it

	leaving sync.Once
}

// create begins to wait for the lock, and returns the path of the node. The library does not
// tell it: it is the one that holds the GUID.
func (l *libraryLock) create(ctx context.Context) (node string, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		err := l.lock.LockWithData([]byte(l.of.id))
		if err != nil {
			cancel(err)
		}
		l.locked <- err
	}()
	node, _, err = l.of.awaitNode(ctx, func(_ string, data []byte, _ *zk.Stat) bool { return string(data) == l.of.id })
	return node, err
}

// letGo has what is granted later be given back at once.
func (l *libraryLock) letGo() {
	l.leaving.Do(func() {
		go func() {
			if <-l.locked == nil {
				_ = l.lock.Unlock()
			}
		}()
	})
}

// wait waits for the lock. Who leaves deletes the node: the library still waits, and has to
// be waited for.
func (l *libraryLock) wait(ctx context.Context) error {
	select {
	case err := <-l.locked:
		l.held = err == nil
		return err
	case <-ctx.Done():
		l.letGo()
		return ctx.Err()
	}
}
