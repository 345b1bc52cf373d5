package natslock_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/natslock"
)

func Example() {
	ctx := context.Background()
	conn, err := nats.Connect("nats://127.0.0.1:4222", nats.ReconnectBufSize(-1))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		log.Fatal(err)
	}
	if err := natslock.Create(ctx, js, natslock.Replicas(3)); err != nil {
		log.Fatal(err)
	}
	backend, err := natslock.New(ctx, js, 10*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	err = lock.Do(ctx, backend, "/clinton/projects", func(ctx context.Context, g lock.Grant) error {
		return rename(ctx, g.Claim()) // the storage refuses a claim that is stale
	})
	if err != nil {
		log.Fatal(err)
	}
}

func rename(_ context.Context, c fence.Claim) error {
	fmt.Println("rename under token", c.Token)
	return nil
}
