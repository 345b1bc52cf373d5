// Command fencesql uses the driver of the same name, without a database.
package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencesql"
)

func main() {
	store := &fencesql.Store{Dialect: fencesql.PostgreSQL}
	err := store.Do(context.Background(), fence.Claim{Scope: "/orders"}, nil)
	fmt.Println(errors.Is(err, fence.ErrNoToken))
}
