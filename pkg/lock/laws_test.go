package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// TestExampleObeysTheLaws: what go doc shows as a lock of one's own is one.
func TestExampleObeysTheLaws(t *testing.T) {
	l := new(local)
	locktest.Run(t, locktest.Subject{
		Open: func(context.Context) (locktest.Client, error) {
			return locktest.Client{Backend: l, Close: func() {}}, nil
		},
		TTL:   100 * time.Millisecond,
		Slack: time.Second / 2,
	})
}
