package etcdlock_test

import (
	"context"
	"fmt"
	"log"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

func Example() {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"127.0.0.1:2379"}, DialTimeout: time.Second})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	backend, err := etcdlock.New(client, 10*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	err = lock.Do(context.Background(), backend, "/orders", func(ctx context.Context, g lock.Grant) error {
		return pay(ctx, g.Claim()) // the storage refuses a claim that is stale
	})
	if err != nil {
		log.Fatal(err)
	}
}

// A lock whose TTL is longer than those of the others has a Backend of its own, on the same client.
func ExampleNew_ttl() {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"127.0.0.1:2379"}, DialTimeout: time.Second})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	orders, err := etcdlock.New(client, 10*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	backup, err := etcdlock.New(client, 5*time.Minute)
	if err != nil {
		log.Fatal(err)
	}
	err = lock.Do(context.Background(), backup, "/backup", func(ctx context.Context, _ lock.Grant) error {
		return lock.Do(ctx, orders, "/orders", func(ctx context.Context, g lock.Grant) error {
			return pay(ctx, g.Claim())
		})
	})
	if err != nil {
		log.Fatal(err)
	}
}

func pay(_ context.Context, c fence.Claim) error {
	fmt.Println("pay under token", c.Token)
	return nil
}
