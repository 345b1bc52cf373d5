package fencegrpc_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthgrpc "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencegrpc"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// checks is a service in the place of one of your own.
type checks struct {
	healthgrpc.UnimplementedHealthServer
}

func (checks) Check(context.Context, *healthgrpc.HealthCheckRequest) (*healthgrpc.HealthCheckResponse, error) {
	return new(healthgrpc.HealthCheckResponse), nil
}

// A client sends its token with each call, taken from the context of lock.Do, and learns from
// the answer that a later holder was there.
func Example() {
	lockOf := func(_ context.Context, method string) string {
		if method == healthgrpc.Health_Check_FullMethodName {
			return "/orders"
		}
		return "" // no lock guards it
	}
	var marks fence.Register
	server := grpc.NewServer(grpc.UnaryInterceptor(fencegrpc.UnaryServerInterceptor(&marks, fencegrpc.Options{Scope: lockOf})))
	healthgrpc.RegisterHealthServer(server, checks{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() { _ = server.Serve(listener) }() // returns by Stop
	defer server.Stop()

	conn, err := grpc.NewClient(listener.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(fencegrpc.UnaryClientInterceptor(lockOf)))
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	client := healthgrpc.NewHealthClient(conn)
	pay := func(ctx context.Context) error {
		_, err := client.Check(ctx, new(healthgrpc.HealthCheckRequest))
		return err
	}

	var old context.Context
	backend := locktest.NewMemory(time.Second).Open()
	for range 2 {
		err := lock.Do(context.Background(), backend, "/orders", func(ctx context.Context, _ lock.Grant) error {
			if old == nil {
				old = context.WithoutCancel(ctx)
			}
			return pay(ctx)
		})
		fmt.Println(err)
	}
	err = pay(old) // the first holder, which was paused
	fmt.Println(errors.Is(err, fence.ErrStale), fence.OutcomeOf(err), status.Code(err))
	fmt.Println(status.Code(pay(context.Background())))
	// Output:
	// <nil>
	// <nil>
	// true definite FailedPrecondition
	// InvalidArgument
}

// A long stream, whose handler calls the Guard for each message, so that the scope is free
// between them. It goes without the interceptor for streams.
func ExampleParseClaim() {
	var marks fence.Register
	apply := func(ctx context.Context, c fence.Claim, text string) error {
		return marks.Do(ctx, c, func(context.Context) error { fmt.Println(text); return nil })
	}
	handler := func(ctx context.Context, messages []string) error {
		c, err := fencegrpc.ParseClaim(ctx, "/orders") // once: a stream shows its claim when it is opened
		if err != nil {
			return fencegrpc.Error(err)
		}
		for _, text := range messages { // or stream.Recv
			if err := apply(ctx, c, text); err != nil {
				return fencegrpc.Error(err)
			}
		}
		return nil
	}
	fmt.Println(status.Code(handler(context.Background(), []string{"paid"})))
	// Output: InvalidArgument
}
