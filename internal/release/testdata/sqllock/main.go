// Command sqllock uses the driver of the same name, without a database.
package main

import (
	"fmt"

	"github.com/fencelab/fencelab/pkg/lock/sqllock"
)

func main() {
	_, err := sqllock.New(nil, sqllock.PostgreSQL, 0)
	fmt.Println(err)
}
