// Command etcdlock uses the driver of the same name, without an etcd.
package main

import (
	"fmt"
	"log"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

func main() {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"127.0.0.1:1"}})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	var backend lock.Backend
	if backend, err = etcdlock.New(client, time.Second); err != nil {
		log.Fatal(err)
	}
	fmt.Println(backend != nil)
}
