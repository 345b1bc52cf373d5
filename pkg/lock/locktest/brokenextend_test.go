package locktest_test

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// brokenExtensions are subjects whose leases are renewed, and are made longer in a wrong way.
var brokenExtensions = []brokenBackend{
	{"an extension of a renewed tenure is forgotten", extending(func(ctx context.Context, inner lock.Extensible, _ time.Duration) error {
		return inner.Extend(ctx, time.Millisecond)
	}), []string{"an extended tenure outlasts its holder"}},
	{"an extension of a renewed tenure is half of what was asked for", extending(func(ctx context.Context, inner lock.Extensible, d time.Duration) error {
		return inner.Extend(ctx, d/2)
	}), []string{"an extended tenure outlasts its holder"}},
	{"an extension of a renewed tenure returns nil where there is no answer", extending(func(ctx context.Context, inner lock.Extensible, d time.Duration) error {
		err := inner.Extend(ctx, d)
		if unknown := new(lock.UnknownError); errors.As(err, &unknown) {
			return nil
		}
		return err
	}), []string{"an extension of a renewed tenure says what became of it"}},
	{"an extension of a renewed tenure returns nil after the release", extending(func(ctx context.Context, inner lock.Extensible, d time.Duration) error {
		err := inner.Extend(ctx, d)
		if errors.Is(err, lock.ErrLost) {
			return nil
		}
		return err
	}), []string{
		"an extended tenure outlasts its holder", "an extension of a renewed tenure says what became of it"}},
	{"an extension of a renewed tenure makes its grant another one", opening(func(c *locktest.Client) {
		take := c.Lock
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			t, err := take(ctx, scope)
			if err != nil {
				return nil, err
			}
			var longer atomic.Bool
			other := &tenure{Tenure: t, grant: func(g lock.Grant) lock.Grant {
				if longer.Load() {
					g.Owner += "'"
				}
				return g
			}}
			return noting(&longer, t, other), nil
		}}
	}), []string{"an extended tenure outlasts its holder"}},
	{"a holder that is cut off learns that an extended tenure is over when it wakes up", opening(func(c *locktest.Client) {
		inner := *c
		var wakes []func()
		c.Wake = func() {
			inner.Wake()
			for _, wake := range wakes {
				wake()
			}
		}
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			t, err := inner.Lock(ctx, scope)
			if err != nil {
				return nil, err
			}
			lost := &tenure{Tenure: t}
			end := lost.endsBy()
			var longer atomic.Bool
			lost.err = func(err error) error {
				if !isClosed(lost.done) {
					return nil
				}
				return err
			}
			over := func() {
				if isClosed(t.Done()) {
					end()
				}
			}
			context.AfterFunc(closing(t.Done()), func() {
				if !longer.Load() {
					end()
				}
			})
			wakes = append(wakes, over)
			return extended{lost, func(ctx context.Context, d time.Duration) error {
				longer.Store(true)
				return t.(lock.Extensible).Extend(ctx, d)
			}}, nil
		}}
	}), []string{"an extended tenure outlasts its holder"}},
	{"the holder of an extended tenure takes it for lost after a TTL", opening(func(c *locktest.Client) {
		inner := *c
		var ends []func() // of its tenures
		c.Crash = func() {
			inner.Crash()
			for _, end := range ends {
				time.AfterFunc(ttl, end)
			}
		}
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			t, err := inner.Lock(ctx, scope)
			if err != nil {
				return nil, err
			}
			lost := &tenure{Tenure: t}
			end := lost.endsBy()
			var early atomic.Bool
			lost.err = func(err error) error {
				if early.Load() {
					return lock.ErrCutOff
				}
				return err
			}
			context.AfterFunc(closing(t.Done()), end)
			ends = append(ends, func() {
				early.Store(early.Load() || !isClosed(lost.done))
				end()
			})
			return extended{lost, t.(lock.Extensible).Extend}, nil
		}}
	}), []string{"an extended tenure outlasts its holder"}},
	{"an extension by the TTL is the last renewal", extending(func(ctx context.Context, inner lock.Extensible, d time.Duration) error {
		err := inner.Extend(ctx, d)
		if err == nil && d == ttl {
			expiring(&tenure{Tenure: inner.(lock.Tenure)})
		}
		return err
	}), []string{"an extended tenure outlasts its holder"}},
	{"an extension of a renewed tenure under a context that is done is said to be made", extending(func(ctx context.Context, inner lock.Extensible, d time.Duration) error {
		if ctx.Err() != nil {
			return nil
		}
		return inner.Extend(ctx, d)
	}), []string{"an extended tenure outlasts its holder"}},
	{"an extended tenure is free some time after the release", opening(func(c *locktest.Client) {
		inner := *c
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			t, err := inner.Lock(ctx, scope)
			if err != nil {
				return nil, err
			}
			var longer atomic.Bool
			stays := &tenure{Tenure: t, unlock: func(_ context.Context, err error) error {
				if left, tryErr := inner.TryLock(context.Background(), scope); longer.Load() && tryErr == nil {
					expiring(&tenure{Tenure: left})
				} else if tryErr == nil {
					_ = left.Unlock(context.Background())
				}
				return err
			}}
			return noting(&longer, t, stays), nil
		}}
	}), []string{"an extension of a renewed tenure says what became of it"}},
	{"an extension of a renewed tenure after the release is that of the client's next one", opening(func(c *locktest.Client) {
		inner := c.Lock
		var last atomic.Pointer[lock.Tenure]
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			t, err := inner(ctx, scope)
			if err != nil {
				return nil, err
			}
			last.Store(&t)
			return extended{&tenure{Tenure: t}, func(ctx context.Context, d time.Duration) error {
				return (*last.Load()).(lock.Extensible).Extend(ctx, d)
			}}, nil
		}}
	}), []string{"an extension of a renewed tenure says what became of it"}},
	{"an extension of a lease that is over is that of the client's next one", from(leased, func(s locktest.Subject) locktest.Subject {
		all := new(service)
		return leasing(func(t *leasedTenure) {
			inner := t.extend
			all.note(t.tenure)
			t.extend = func(ctx context.Context, d time.Duration) error {
				err := inner(ctx, d)
				if last := all.last(); errors.Is(err, lock.ErrLost) && clientOf(last) == clientOf(t.tenure) {
					return last.Tenure.(lock.Extensible).Extend(ctx, d)
				}
				return err
			}
		})(s)
	}), []string{"an extension after the release says so", "an extension of what is over says so"}},
	{"who waits for long comes in beside the holder of a lease", from(leased, opening(func(c *locktest.Client) {
		s := c.Backend.(lock.Sharer)
		c.Backend = sharingMethods{methods{c.TryLock, patiently(c.Lock, ttl+ttl/2, func(string) bool { return true })}, methods{s.TryRLock, s.RLock}}
	})), []string{"an extended lease goes on"}},
	{"an extension of a lease that another one waits for is forgotten", from(leased, func(s locktest.Subject) locktest.Subject {
		var waiting atomic.Int64
		return leasing(func(t *leasedTenure) {
			inner := t.extend
			t.extend = func(ctx context.Context, d time.Duration) error {
				if waiting.Load() > 0 {
					return nil
				}
				return inner(ctx, d)
			}
		})(opening(func(c *locktest.Client) {
			wait, s := c.Lock, c.Backend.(lock.Sharer)
			c.Backend = sharingMethods{methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
				waiting.Add(1)
				defer waiting.Add(-1)
				return wait(ctx, scope)
			}}, methods{s.TryRLock, s.RLock}}
		})(s))
	}), []string{"an extended lease goes on"}},
}

type extended struct {
	*tenure
	extend func(context.Context, time.Duration) error
}

func (t extended) Extend(ctx context.Context, d time.Duration) error { return t.extend(ctx, d) }

// extending changes Extend of tenures that are renewed.
func extending(change func(ctx context.Context, inner lock.Extensible, d time.Duration) error) func(locktest.Subject) locktest.Subject {
	return opening(func(c *locktest.Client) {
		inner := c.Lock
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			t, err := inner(ctx, scope)
			if err != nil {
				return nil, err
			}
			return extended{&tenure{Tenure: t}, func(ctx context.Context, d time.Duration) error {
				return change(ctx, t.(lock.Extensible), d)
			}}, nil
		}}
	})
}

// noting is a tenure in the place of t that notes its extensions.
func noting(longer *atomic.Bool, t lock.Tenure, instead *tenure) lock.Tenure {
	return extended{instead, func(ctx context.Context, d time.Duration) error {
		longer.Store(true)
		return t.(lock.Extensible).Extend(ctx, d)
	}}
}
