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

func pay(_ context.Context, c fence.Claim) error {
	fmt.Println("pay under token", c.Token)
	return nil
}
