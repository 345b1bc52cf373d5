// Command zklock uses the driver of the same name, without a ZooKeeper.
package main

import (
	"fmt"

	"github.com/fencelab/fencelab/pkg/lock/zklock"
)

func main() {
	_, err := zklock.New([]string{"127.0.0.1:1"}, 0)
	fmt.Println(err)
}
