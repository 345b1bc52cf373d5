package lock_test

import (
	"context"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// printed is an observer of one's own.
type printed struct{}

func (printed) Observe(_ context.Context, e lock.Event) {
	fmt.Println(e.Kind, e.Scope, e.Grant.Token, e.Err)
}

// An observer is told of each attempt and of each end of a tenure, and of renewals in between.
func ExampleObserve() {
	ctx := context.Background()
	service := locktest.NewMemory(time.Second) // or etcdlock.New(client, 10*time.Second)
	backend := lock.Observe(service.Open().Backend, printed{})

	_ = lock.Do(ctx, backend, "/orders", func(context.Context, lock.Grant) error { return nil })
	_ = lock.Do(ctx, backend, "/orders", func(_ context.Context, g lock.Grant) error {
		service.Revoke(g) // as an operator could
		return nil
	})
	// Output:
	// asked /orders 0 <nil>
	// granted /orders 1 <nil>
	// released /orders 1 <nil>
	// asked /orders 0 <nil>
	// granted /orders 2 <nil>
	// lost /orders 2 locktest: token 2 was revoked: lock: tenure is over
}
