package zklock_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/zklock"
)

func Example() {
	backend, err := zklock.New([]string{"127.0.0.1:2181"}, 10*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer backend.Close()
	err = lock.Do(context.Background(), backend, "/orders", func(ctx context.Context, g lock.Grant) error {
		return pay(ctx, g.Claim()) // the storage refuses a claim that is stale
	})
	if err != nil {
		log.Fatal(err)
	}
}

// A lock beside services in Java, which take it by new InterProcessMutex(client, "/orders").
func ExampleMutex() {
	backend, err := zklock.Mutex([]string{"127.0.0.1:2181"}, 10*time.Second, zklock.Suspended())
	if err != nil {
		log.Fatal(err)
	}
	defer backend.Close()
	err = lock.Do(context.Background(), backend, "/orders", func(ctx context.Context, g lock.Grant) error {
		return pay(ctx, g.Claim())
	})
	if err != nil {
		log.Fatal(err)
	}
}

// Nodes that none but their creator may touch. Each session says who it is.
func ExampleAuth() {
	backend, err := zklock.New([]string{"127.0.0.1:2181"}, 10*time.Second,
		zklock.Auth("digest", []byte("app:secret")), zklock.ACL(zk.AuthACL(zk.PermAll)...))
	if err != nil {
		log.Fatal(err)
	}
	defer backend.Close()
	err = lock.Do(context.Background(), backend, "/orders", func(ctx context.Context, g lock.Grant) error {
		return pay(ctx, g.Claim())
	})
	if err != nil {
		log.Fatal(err)
	}
}

func pay(_ context.Context, c fence.Claim) error {
	fmt.Println("pay under token", c.Token)
	return nil
}
