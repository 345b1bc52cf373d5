package locktest_test

import (
	"context"
	"testing"
	"time"

	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// A test of a backend of your own. The service here is the one in memory.
func ExampleRun() {
	service := locktest.NewMemory(time.Second)
	test := func(t *testing.T) {
		locktest.Run(t, locktest.Subject{
			Open: func(context.Context) (locktest.Client, error) {
				return service.Open(), nil // with Crash and Wake, or their laws are left out
			},
			TTL:   time.Second,
			Slack: time.Second,
		})
	}
	_ = test // func TestLaws(t *testing.T) { … }
}
