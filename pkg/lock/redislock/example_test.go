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

// Readers share the lock, and show their token to the resource as well.
func ExampleBackend_RLock() {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
	defer client.Close()
	backend, err := redislock.New(client, 10*time.Second, redislock.Fair())
	if err != nil {
		log.Fatal(err)
	}
	err = lock.Do(context.Background(), lock.Shared(backend), "/orders", func(ctx context.Context, g lock.Grant) error {
		return pay(ctx, g.Claim())
	})
	if err != nil {
		log.Fatal(err)
	}
}

// A bound for a store that is shown claims: no token can be higher than the counter. Percent
// signs and braces of a scope are escaped in the key, and Prefix is before it.
func Example_bound() {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
	defer client.Close()
	_ = fence.Register{Bound: func(c fence.Claim) (fence.Token, error) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		highest, err := client.HGet(ctx, "lock:{"+c.Scope+"}:grants", "token").Int64()
		return fence.Token(highest), err
	}}
}

// Tokens that outlive the counter: after Redis has lost its data they go on above all that were
// given out before, as far as Redis's clock is right. All clients of the lock need the option.
func ExampleClockTokens() {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
	defer client.Close()
	backend, err := redislock.New(client, 10*time.Second, redislock.ClockTokens())
	if err != nil {
		log.Fatal(err)
	}
	err = lock.Do(context.Background(), backend, "/orders", func(ctx context.Context, g lock.Grant) error {
		return pay(ctx, g.Claim())
	})
	if err != nil {
		log.Fatal(err)
	}
}

// A lock beside services in Java, which take it by getFencedLock("orders").
func ExampleRedissonFenced() {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
	defer client.Close()
	backend, err := redislock.RedissonFenced(client, redislock.RedissonTTL)
	if err != nil {
		log.Fatal(err)
	}
	err = lock.Do(context.Background(), backend, "orders", func(ctx context.Context, g lock.Grant) error {
		return pay(ctx, g.Claim())
	})
	if err != nil {
		log.Fatal(err)
	}
}

// A quorum is of three or more, of which a minority may be lost.
func ExampleQuorum() {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
	defer client.Close()
	_, err := redislock.Quorum([]redis.UniversalClient{client}, 10*time.Second)
	fmt.Println(err)
	// Output: redislock: a quorum of 1 Redis, want 3 or more: of fewer a majority does without none
}
