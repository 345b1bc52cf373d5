package fencees_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencees"
)

func Example() {
	ctx := context.Background()
	store, err := fencees.New("http://127.0.0.1:9200", "orders")
	if err != nil {
		log.Fatal(err)
	}
	if err := store.Create(ctx); err != nil {
		log.Fatal(err)
	}
	claim := fence.Claim{Scope: "/orders/7", Token: 34} // of the lock's grant
	err = store.Do(ctx, claim, func(json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`{"status": "paid"}`), nil
	})
	if errors.Is(err, fence.ErrStale) {
		fmt.Println("a later holder was there")
	}
}
