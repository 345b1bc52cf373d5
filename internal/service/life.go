package service

import (
	"context"
	"sync"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
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

// Granted is what a Tenure has by its grant where its owner is the name of both tenure and
// session, and its token is what the client shows.
type Granted struct{ lock.Tenure }

// Name implements Tenure, as Session and Shown do.
func (g Granted) Name() string { return g.Grant().Owner }

func (g Granted) Session() string { return g.Grant().Owner }

func (g Granted) Shown() (token fence.Token, remark string) { return g.Grant().Token, "" }

// IsClosed reports whether a channel, to which nothing is sent, is closed.
func IsClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
