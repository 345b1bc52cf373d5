package service

import (
	"context"
	"sync"
)

// Life is the part of a Tenure that ends once: its Done and its Err, as lock.Tenure says.
type Life struct {
	ctx  context.Context
	over context.CancelFunc

	mu  sync.Mutex
	err error // why ctx is done
}

// NewLife begins a life.
func NewLife() *Life {
	l := new(Life)
	l.ctx, l.over = context.WithCancel(context.Background())
	return l
}

// Context is done when the life has ended.
func (l *Life) Context() context.Context { return l.ctx }

// Done implements lock.Tenure, as Err does.
func (l *Life) Done() <-chan struct{} { return l.ctx.Done() }

func (l *Life) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// End ends the life because of why, nil after an unlock. It reports whether the life had not
// ended before.
func (l *Life) End(why error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		return false
	}
	l.err = why
	l.over()
	return true
}

// IsClosed reports whether a channel, to which nothing is sent, is closed.
func IsClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
