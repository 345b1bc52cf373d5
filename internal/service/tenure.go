package service

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

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

func NewLife() *Life {
	l := new(Life)
	l.ctx, l.over = context.WithCancel(context.Background())
	return l
}

func (l *Life) Context() context.Context { return l.ctx }

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

// Owned is what a Tenure has by its grant where its owner is the name of both tenure and
// session, and its token is what the client shows.
type Owned struct{ lock.Tenure }

func (o Owned) Name() string { return o.Grant().Owner }

func (o Owned) Session() string { return o.Grant().Owner }

func (o Owned) Shown() (token fence.Token, remark string) { return o.Grant().Token, "" }

// Look is of services that have no way of their own to look.
func (o Owned) Look(_ context.Context, how string) (said string, err error) {
	return "", fmt.Errorf("there is no look %q", how)
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

// Queue is a client's wait for a lock in the background: what is the same of every Place.
type Queue struct {
	granted chan error
	leave   context.CancelFunc
}

// Enqueue calls wait in the background, with a context that ends when the client leaves.
// It returns when stands is closed, which is when the client stands in the queue, or when
// the wait is over: its error is why the lock was not granted. ctx bounds this.
func Enqueue(ctx context.Context, stands <-chan struct{}, wait func(context.Context) error) (*Queue, error) {
	waiting, leave := context.WithCancel(context.WithoutCancel(ctx))
	q := &Queue{make(chan error, 1), leave}
	go func() {
		defer leave()
		q.granted <- wait(waiting)
	}()
	var err error
	select {
	case <-stands:
		return q, nil
	case err = <-q.granted:
	case <-ctx.Done():
		leave()
		err = <-q.granted
	}
	if err != nil {
		return nil, err
	}
	q.granted <- nil
	return q, nil
}

// placed is a place of a tenure to be.
type placed struct {
	Tenure
	*Queue
}

// EnqueueAs is Enqueue for a place that is the tenure, before it is granted and after that.
func EnqueueAs(ctx context.Context, t Tenure, stands <-chan struct{}, wait func(context.Context) error) (Place, error) {
	q, err := Enqueue(ctx, stands, wait)
	if err != nil {
		return nil, err
	}
	return &placed{t, q}, nil
}

func (q *Queue) Granted() <-chan error { return q.granted }

func (q *Queue) Leave() { q.leave() }

// Later is a tenure that its client waits for. Before the grant it is a place in a queue, which
// ends by itself with the wait alone.
type Later struct {
	Place lock.Grant // as far as it is known
	held  atomic.Pointer[lock.Tenure]
}

// Begin says that the lock was granted.
func (l *Later) Begin(t lock.Tenure) { l.held.Store(&t) }

// Held is the tenure; nil before the grant.
func (l *Later) Held() lock.Tenure {
	if t := l.held.Load(); t != nil {
		return *t
	}
	return nil
}

func (l *Later) Grant() lock.Grant {
	if t := l.Held(); t != nil {
		return t.Grant()
	}
	return l.Place
}

func (l *Later) Done() <-chan struct{} {
	if t := l.Held(); t != nil {
		return t.Done()
	}
	return nil
}

func (l *Later) Err() error {
	if t := l.Held(); t != nil {
		return t.Err()
	}
	return nil
}

func (l *Later) Unlock(ctx context.Context) error {
	if t := l.Held(); t != nil {
		return t.Unlock(ctx)
	}
	return StillWaits(l.Place.Scope, l.Place.Owner)
}

// waiting is a Place of a client that waits for a lock, and then has a tenure, where the
// service's account does not tell who waits.
type waiting struct {
	*Queue
	Owned
	later *Later
}

// Wait waits for a lock in the background, by take, as Enqueue does. take calls stands with
// the name of the tenure to be when the client waits for another.
func Wait(ctx context.Context, scope string, take func(ctx context.Context, stands func(owner string)) (Tenure, error)) (Place, error) {
	later := &Later{Place: lock.Grant{Scope: scope}}
	standing := make(chan struct{})
	var once sync.Once
	stands := func(owner string) {
		once.Do(func() { later.Place.Owner = owner; close(standing) })
	}
	queue, err := Enqueue(ctx, standing, func(ctx context.Context) error {
		t, err := take(ctx, stands)
		if err == nil {
			later.Begin(t)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &waiting{queue, Owned{later}, later}, nil
}

func (w *waiting) Waits() string {
	return "has asked for " + w.later.Place.Scope + ", which is another's, and waits"
}

func (w *waiting) Look(ctx context.Context, how string) (said string, err error) {
	if t, held := w.later.Held().(Tenure); held {
		return t.Look(ctx, how)
	}
	return "", NotHeld("it waits for the lock")
}

// LastAnswer is how long the answer to a request may take after the wait is over, of which
// it is the last: else its outcome would not be known.
const LastAnswer = 500 * time.Millisecond

// Patient returns a context that ends LastAnswer after ctx. then is called when ctx ends.
func Patient(ctx context.Context, then func()) (late context.Context, stop func()) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	forget := context.AfterFunc(ctx, func() {
		then()
		time.AfterFunc(LastAnswer, cancel)
	})
	return late, func() { forget(); cancel() }
}
