package fenceetcd_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fenceetcd"
)

func Example() {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"127.0.0.1:2379"}})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()

	claim := fence.Claim{Scope: "/orders", Token: 34} // of the lock's grant
	_, err = fenceetcd.Do(ctx, client, claim, clientv3.OpPut("orders/7", "paid"))
	switch {
	case err == nil:
		fmt.Println("paid")
	case errors.Is(err, fence.ErrStale):
		fmt.Println("the lock is lost:", err)
	case fenceetcd.Definite(err):
		fmt.Println("not paid:", err)
	default:
		fmt.Println("paid or not, look before the next try:", err)
	}
}
