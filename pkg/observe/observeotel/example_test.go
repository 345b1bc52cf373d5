package observeotel_test

import (
	"context"
	"fmt"
	"time"

	metric "go.opentelemetry.io/otel/metric/noop"
	trace "go.opentelemetry.io/otel/trace/noop"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
	"github.com/fencelab/fencelab/pkg/observe/observeotel"
)

func Example() {
	observer, err := observeotel.New(metric.Meter{}, trace.Tracer{}) // or otel.Meter("orders"), otel.Tracer("orders")
	if err != nil {
		panic(err)
	}
	service := locktest.NewMemory(time.Second) // or etcdlock.New(client, 10*time.Second)
	backend := lock.Observe(service.Open().Backend, observer)
	guard := fence.Watch(new(fence.Register), observer.Claim)

	err = lock.Do(context.Background(), backend, "/orders", func(ctx context.Context, g lock.Grant) error {
		return guard.Do(ctx, g.Claim(), func(context.Context) error { return nil })
	})
	fmt.Println(err)
	// Output: <nil>
}
