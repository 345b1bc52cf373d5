package locktest_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

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
		"want renewal failed": func(o *locktest.Observed) {
			o.Subject = opening(func(c *locktest.Client) { c.Crash = func() {} })(o.Subject)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := locktest.NewFixedLease(ttl)
			o := locktest.Observed{Subject: m.Subject(), Revoke: func(_ context.Context, g lock.Grant) error {
				m.Revoke(g)
				return nil
			}}
			breaks(&o)
			err := o.Check(t.Context())
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
}
