// Command fenceetcd uses the driver of the same name, without an etcd.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fenceetcd"
)

func main() {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"127.0.0.1:1"}})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	_, err = fenceetcd.Do(context.Background(), client, fence.Claim{Scope: "/orders"})
	fmt.Println(errors.Is(err, fence.ErrNoToken))
}
