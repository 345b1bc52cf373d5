package redislock_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
)

func Example() {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
	defer client.Close()
	backend, err := redislock.New(client, 10*time.Second)
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
