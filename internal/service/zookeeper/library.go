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

func newLibraryLock(w *asking) *libraryLock {
	return &libraryLock{of: w, lock: zk.NewLock(w.Conn, w.lock, anybody), locked: make(chan error, 1)}
}

// create begins to wait for the lock, and returns the path of the node. The library does not
// tell it: it is the one that holds the GUID.
func (l *libraryLock) create(ctx context.Context) (node string, err error) {
	go func() { l.locked <- l.lock.LockWithData([]byte(l.of.id)) }()
	for {
		names, _, changed, err := l.of.ChildrenW(l.of.lock)
		if err == zk.ErrNoNode {
			if err = l.of.makeParents(); err == nil {
				continue
			}
		}
		if err != nil {
			return "", err
		}
		for _, name := range names {
			data, _, err := l.of.Get(l.of.lock + "/" + name)
			if err == nil && string(data) == l.of.id {
				return l.of.lock + "/" + name, nil
			}
		}
		select {
		case <-changed:
		case err := <-l.locked:
			if err != nil {
				return "", err
			}
			l.locked <- nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
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
