package k8slock_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/k8slock"
)

func Example() {
	backend, err := k8slock.New("https://127.0.0.1:6443", "default", 15*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	err = lock.Do(context.Background(), backend, "projects", func(ctx context.Context, g lock.Grant) error {
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
