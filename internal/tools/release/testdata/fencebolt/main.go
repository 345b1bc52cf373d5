// Command fencebolt refuses a stale claim in a transaction of bbolt.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencebolt"
)

func main() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, err := bbolt.Open(filepath.Join(dir, "db"), 0o600, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	store := &fencebolt.Store{DB: db}
	for _, token := range []fence.Token{34, 33} {
		err := store.Do(context.Background(), fence.Claim{Scope: "/orders", Token: token}, func(context.Context) error { return nil })
		fmt.Println(errors.Is(err, fence.ErrStale))
	}
}
