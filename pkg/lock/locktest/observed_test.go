package locktest_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

func observed() locktest.Observed {
	m := locktest.NewFixedLease(ttl)
	return locktest.Observed{Subject: m.Subject(), Revoke: func(_ context.Context, g lock.Grant) error {
		m.Revoke(g)
		return nil
	}}
}

// TestObserved: a service whose observer is told of everything passes, and each one that keeps
// something to itself is caught.
func TestObserved(t *testing.T) {
	granting := func(change func(calls int, g *lock.Grant)) func(*locktest.Observed) {
		return func(o *locktest.Observed) {
			o.Subject = changingLeased(func(t *watched) {
				var calls atomic.Int64
				t.grant = func(g lock.Grant) lock.Grant { change(int(calls.Add(1)), &g); return g }
			})(o.Subject)
		}
	}
	for _, tt := range []struct {
		want   string // in the error; "": there is none
		breaks func(*locktest.Observed)
	}{
		{"", func(*locktest.Observed) {}},
		{"", func(o *locktest.Observed) { // is told twice of each renewal
			o.Subject = changingLeased(func(t *watched) { t.renews = true })(o.Subject)
		}},
		{"told lost: ", func(o *locktest.Observed) { // by the end of the lease
			o.Revoke = func(context.Context, lock.Grant) error { return nil }
		}},
		{"the tenure is an Extender: true", func(o *locktest.Observed) { o.FixedLease = false }},
		{"is said to have lasted", func(o *locktest.Observed) { o.TTL *= 4 }},
		{"is said to have lasted", func(o *locktest.Observed) { o.TTL, o.Slack = o.TTL/2, o.TTL/4 }},
		{"TryLock of a lock that is held", func(o *locktest.Observed) {
			o.Open = func(context.Context) (locktest.Client, error) { return locktest.NewFixedLease(ttl).Open(), nil }
		}},
		{errFlaky.Error(), func(o *locktest.Observed) {
			o.Open = func(context.Context) (locktest.Client, error) { return locktest.Client{}, errFlaky }
		}},
		{"want renewal failed", func(o *locktest.Observed) {
			o.Subject = opening(func(c *locktest.Client) { c.Crash = func() {} })(o.Subject)
		}},
		{"told granted: ", granting(func(calls int, g *lock.Grant) { g.Token += fence.Token(calls) })},
		{"told granted: ", granting(func(_ int, g *lock.Grant) { g.Scope += "'" })},
	} {
		synctest.Test(t, func(t *testing.T) {
			o := observed()
			tt.breaks(&o)
			err := o.Check(t.Context())
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestObservedHasLeasesRenewed where nobody would see that otherwise.
func TestObservedHasLeasesRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, renewed := observed(), false
		o.Renew = func(locktest.Client) { renewed = true }
		if err := o.Check(t.Context()); err != nil || !renewed {
			t.Errorf("got %v; a lease was renewed: %t", err, renewed)
		}
	})
}

// changingLeased changes tenures with a fixed lease.
func changingLeased(change func(*watched)) func(locktest.Subject) locktest.Subject {
	return opening(func(c *locktest.Client) {
		take := c.Lock
		c.Backend = methods{c.TryLock, func(ctx context.Context, scope string) (lock.Tenure, error) {
			t, err := take(ctx, scope)
			if err != nil {
				return nil, err
			}
			w := &watched{tenure: &tenure{Tenure: t}, Extender: t.(lock.Extender)}
			change(w)
			if !w.renews {
				return struct {
					*tenure
					lock.Extender
				}{w.tenure, w}, nil
			}
			return w, nil
		}}
	})
}

// watched is a tenure with a fixed lease that tells of its extensions.
type watched struct {
	*tenure
	lock.Extender
	renews bool
	tell   func(time.Duration, error)
}

// OnRenewal implements lock.Renewer.
func (w *watched) OnRenewal(f func(time.Duration, error)) { w.tell = f }

func (w *watched) Extend(ctx context.Context, d time.Duration) error {
	err := w.Extender.Extend(ctx, d)
	if w.tell != nil {
		w.tell(0, err)
	}
	return err
}

// TestObservedNoticesErrors: whichever call says that it failed, the check says so. What became
// of Extend an event tells, which has to come where the lease is current.
func TestObservedNoticesErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for n := 1; ; n++ {
			o := observed()
			f := &flaky{nth: n}
			o.Subject = f.subject(o.Subject)
			revoke := o.Revoke
			o.Revoke = func(ctx context.Context, g lock.Grant) error { return f.call("Revoke", g.Scope, revoke(ctx, g)) }
			err := o.Check(t.Context())
			if f.failed == "" {
				break
			}
			want := errFlaky.Error()
			if f.failed == "Extend below" {
				want = "want renewed"
			}
			if said := err != nil && strings.Contains(err.Error(), want); !said && f.failed != "Extend below in vain" {
				t.Errorf("call %d, %s, failed, and the check says %v, want %q", n, f.failed, err, want)
			}
		}
	})
}
