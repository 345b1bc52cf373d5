// Command fencees uses the store of the same name, without a server.
package main

import (
	"fmt"

	"github.com/fencelab/fencelab/pkg/fence/fencees"
)

func main() {
	_, err := fencees.New("127.0.0.1:9200", "orders")
	fmt.Println(err)
}
