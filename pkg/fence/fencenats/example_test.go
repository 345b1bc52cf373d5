package fencenats_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencenats"
)

func Example() {
	ctx := context.Background()
	conn, err := nats.Connect("nats://127.0.0.1:4222", nats.ReconnectBufSize(-1))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		log.Fatal(err)
	}
	if err := fencenats.Create(ctx, js, "orders", 3); err != nil {
		log.Fatal(err)
	}
	store, err := fencenats.New(ctx, js, "orders")
	if err != nil {
		log.Fatal(err)
	}
	claim := fence.Claim{Scope: "/orders/7", Token: 34} // of the lock's grant
	err = store.Do(ctx, claim, func([]byte) ([]byte, error) {
		return []byte(`{"status": "paid"}`), nil
	})
	if errors.Is(err, fence.ErrStale) {
		fmt.Println("a later holder was there")
	}
}
