// Command redislock uses the driver of the same name, without a Redis.
package main

import (
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/pkg/lock/redislock"
)

func main() {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer client.Close()
	_, err := redislock.New(client, 0)
	fmt.Println(err)
}
