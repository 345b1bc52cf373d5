package locktest_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

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
	for want, breaks := range map[string]func(*locktest.Observed){
		"": func(*locktest.Observed) {},
		"told lost: ": func(o *locktest.Observed) { // by the end of the lease
			o.Revoke = func(context.Context, lock.Grant) error { return nil }
		},
		"the tenure is an Extender: true": func(o *locktest.Observed) { o.FixedLease = false },
		"is said to have lasted":          func(o *locktest.Observed) { o.TTL *= 4 },
		"TryLock of a lock that is held": func(o *locktest.Observed) {
			o.Open = func(context.Context) (locktest.Client, error) { return locktest.NewFixedLease(ttl).Open(), nil }
		},
		errFlaky.Error(): func(o *locktest.Observed) {
			o.Open = func(context.Context) (locktest.Client, error) { return locktest.Client{}, errFlaky }
		},
		"want renewal failed": func(o *locktest.Observed) {
			o.Subject = opening(func(c *locktest.Client) { c.Crash = func() {} })(o.Subject)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			o := observed()
			breaks(&o)
			err := o.Check(t.Context())
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
}

// TestObservedNoticesErrors: whichever call says that it failed, the check says so. What became
// of Extend an event tells, which has to come where the lease is current.
func TestObservedNoticesErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for n := 1; ; n++ {
			o := observed()
			f := &flaky{nth: n, calls: make(map[string]int)}
			o.Subject = f.subject(o.Subject)
			revoke := o.Revoke
			o.Revoke = func(ctx context.Context, g lock.Grant) error { return f.call("Revoke", g.Scope, revoke(ctx, g)) }
			err := o.Check(t.Context())
			if f.failed == "" {
				break
			}
			want := errFlaky.Error()
			if f.failed == "Extend" {
				want = "want renewed"
			}
			if said := err != nil && strings.Contains(err.Error(), want); !said && f.failed != "Extend in vain" {
				t.Errorf("call %d, %s, failed, and the check says %v, want %q", n, f.failed, err, want)
			}
		}
	})
}
