package eslock_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/eslock"
)

func Example() {
	ctx := context.Background()
	const address = "http://127.0.0.1:9200"
	if err := eslock.Create(ctx, address); err != nil {
		log.Fatal(err)
	}
	backend, err := eslock.New(address, 10*time.Second)
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
