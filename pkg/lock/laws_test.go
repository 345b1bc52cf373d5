package lock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// laws checks each law of a subject of its own, in its own fake time.
func laws(t *testing.T, subject func() locktest.Subject) {
	for _, l := range locktest.Laws {
		t.Run(l.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if err := l.Check(t.Context(), subject()); err != nil && !errors.Is(err, errors.ErrUnsupported) {
					t.Errorf("%v\nThe law: %s", err, l.Doc)
				}
				time.Sleep(time.Hour) // calls that outlive the check come to their end
			})
		})
	}
}

// TestExampleObeysTheLaws: what go doc shows as a lock of one's own is one.
func TestExampleObeysTheLaws(t *testing.T) {
	laws(t, func() locktest.Subject {
		l := new(local)
		return locktest.Subject{
			Open: func(context.Context) (locktest.Client, error) {
				return locktest.Client{Backend: l, Close: func() {}}, nil
			},
			TTL:   100 * time.Millisecond,
			Slack: time.Second / 2,
		}
	})
}
