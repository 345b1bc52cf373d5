// Command eslock uses the driver of the same name, without a server.
package main

import (
	"fmt"

	"github.com/fencelab/fencelab/pkg/lock/eslock"
)

func main() {
	_, err := eslock.New("http://127.0.0.1:9200", 0)
	fmt.Println(err)
}
