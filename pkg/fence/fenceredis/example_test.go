package fenceredis_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fenceredis"
)

func ExampleStore_Do() {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()

	store := fenceredis.Store{Client: client}
	claim := fence.Claim{Scope: "/orders", Token: 34} // of the lock's grant
	key := fenceredis.Tag(claim.Scope) + "7"
	_, err := store.Do(ctx, claim, fenceredis.Cmd("SET", key, "paid"))
	switch {
	case err == nil:
		fmt.Println("paid")
	case errors.Is(err, fence.ErrStale):
		fmt.Println("the lock is lost:", err)
	case fence.OutcomeOf(err) == fence.Definite:
		fmt.Println("not paid:", err)
	default:
		fmt.Println("paid or not, look before the next try:", err)
	}
}

// A key of the data is in the same slot of a cluster as the mark.
func ExampleTag() {
	fmt.Println(fenceredis.Tag("/orders") + "7")
	// Output: {/orders}7
}
