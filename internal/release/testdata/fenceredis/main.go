// Command fenceredis uses the driver of the same name, without a Redis.
package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fenceredis"
)

func main() {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer client.Close()
	_, err := fenceredis.Store{Client: client}.Do(context.Background(), fence.Claim{Scope: "/orders"})
	fmt.Println(errors.Is(err, fence.ErrNoToken))
}
