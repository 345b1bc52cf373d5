package redislock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// service is what grants locks: a Redis, or several. Its methods may outlast their context
// as go-redis does, which looks at it only between requests by default.
type service interface {
	take(context.Context, ticket, time.Duration) (answer, error)
	renew(context.Context, ticket, time.Duration, change) (bool, error)
	free(ctx context.Context, t ticket, ttl time.Duration, call string) (bool, error)
	// valid is how long a lease surely lasts, from before it was asked for.
	valid(ttl time.Duration) time.Duration
	listen(ticket) *waiter
	inspect(context.Context, ticket, time.Duration) (lock.State, error)
}

// change is what a renewal may do to a lease.
type change string

const (
	longer  change = "longer" // a request that comes after a later one does no harm
	shorter change = ""       // or longer
)

// locker takes locks of a service.
type locker struct {
	service service
	recipes recipes
	options options
	ttl     time.Duration
	owner   naming
	crew    *crew
}

// naming makes a name that no tenure ever had.
type naming func(context.Context, fence.Mode) string

// pending is the answer to a call, which may come after nobody waits for it any more.
type pending[T any] struct {
	call func() (T, error)
	came chan struct{}
	said T
	err  error
}

// begin makes a call, in the background if ctx can end.
func begin[T any](ctx context.Context, c *crew, call func() (T, error)) *pending[T] {
	p := &pending[T]{call: call, came: make(chan struct{})}
	if ctx.Done() == nil {
		p.run()
	} else {
		c.do(p)
	}
	return p
}

func (p *pending[T]) run() {
	defer close(p.came)
	p.said, p.err = p.call()
}

// within returns the answer, or why ctx was done before it came.
func (p *pending[T]) within(ctx context.Context) (none T, err error) {
	select {
	case <-p.came:
		return p.said, p.err
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}

// patience is how long an attempt waits for answers: until attempt.Cleanup after ctx is done.
type patience struct {
	ctx   context.Context
	after context.Context // not nil: ctx is done, and this context ends with the patience
	stop  context.CancelFunc
}

// late returns a context that ends with the patience. It is called when ctx is done.
func (w *patience) late() context.Context {
	if w.after == nil {
		w.after, w.stop = context.WithTimeout(context.WithoutCancel(w.ctx), attempt.Cleanup)
	}
	return w.after
}

func (w *patience) end() {
	if w.stop != nil {
		w.stop()
	}
}

// patiently returns the answer, or why the patience ended before it came.
func (p *pending[T]) patiently(w *patience) (none T, err error) {
	select {
	case <-p.came:
		return p.said, p.err
	case <-w.ctx.Done():
		return p.within(w.late())
	}
}

// errZero: a backend that none of the package's functions has made has no Redis.
var errZero = fence.Definite.New("redislock: this backend was not made by New or a function like it")

var errEmpty = fmt.Errorf("%w: it is empty", fence.ErrInvalidScope)

// attempt makes one attempt, or waits.
func (l *locker) attempt(ctx context.Context, scope string, how attempt.Way) (lock.Tenure, error) {
	if l == nil {
		return nil, errZero
	}
	if scope == "" {
		return nil, fmt.Errorf("redislock: %s: %w", how.Op, errEmpty)
	}
	tenure, left, err := l.try(ctx, scope, how)
	if err != nil {
		return nil, attempt.Attempt{Package: "redislock", Way: how, Scope: scope}.Failed(ctx, err, "the lock may be taken", left)
	}
	return tenure, nil
}

func (l *locker) try(ctx context.Context, scope string, how attempt.Way) (_ lock.Tenure, left, err error) {
	w := &patience{ctx: ctx}
	defer w.end()
	return attempt.Stand(how, func() (lock.Tenure, error, error) {
		return l.stand(ctx, w, l.recipes[how.Mode].ticket(l.options, scope, l.owner(ctx, how.Mode), how.Mode, how.Wait))
	})
}

// stand asks for the lock until it is granted or, without wait, once. left is why
// something may be left in Redis.
func (l *locker) stand(ctx context.Context, w *patience, t ticket) (_ lock.Tenure, left, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	background := context.WithoutCancel(ctx)
	var news chan struct{}
	granted := false
	for {
		asked := time.Now()
		asking := begin(ctx, l.crew, func() (answer, error) { return l.service.take(background, t, l.ttl) })
		said, err := asking.patiently(w)
		until := asked.Add(l.service.valid(l.ttl))
		granted = err == nil && said.granted && ctx.Err() == nil && time.Now().Before(until)
		switch {
		case granted:
			return l.newTenure(t, said.token, until), nil, nil
		case err != nil && !(t.wait && said.again > 0) || ctx.Err() != nil:
			return nil, l.abandon(w, t, asking), cmp.Or(err, ctx.Err())
		case said.granted: // and the answer took as long as the lease
			return nil, l.abandon(w, t, asking), attempt.ErrLate
		case !t.wait:
			return nil, nil, lock.ErrLocked
		}
		if news == nil {
			one := l.service.listen(t)
			news = one.news
			defer func() { one.leave(granted) }()
		}
		select {
		case <-news:
		case <-time.After(said.again):
		case <-ctx.Done():
			return nil, l.abandon(w, t, asking), ctx.Err()
		}
	}
}

// abandon takes back what an attempt may have left: the lock, or a place in a queue. It
// goes on in the background where the patience ends before. It returns why something may be left.
func (l *locker) abandon(w *patience, t ticket, asking *pending[answer]) error {
	_, err := begin(w.ctx, l.crew, func() (struct{}, error) {
		<-asking.came
		return struct{}{}, l.takeBack(context.WithoutCancel(w.ctx), t, asking)
	}).patiently(w)
	return err
}

func (l *locker) takeBack(ctx context.Context, t ticket, asking *pending[answer]) error {
	if asking.err == nil && !asking.said.granted && !(t.wait && t.recipe.queues) {
		return nil
	}
	freed, err := l.service.free(ctx, t, l.ttl, t.owner+"#0")
	switch {
	case freed || refused(asking.err):
		return nil
	case err == nil && asking.err != nil:
		return errors.New("the request may be on its way")
	}
	return err
}
