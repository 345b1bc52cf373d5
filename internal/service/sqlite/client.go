package sqlite

import (
	"fmt"

	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
	"github.com/fencelab/fencelab/internal/setting"
)

// Name is what scenarios call the service.
const Name = "sqlite"

// Dial makes a client.
func Dial(o service.Options) (service.Client, error) {
	if len(o.Endpoints) != 1 {
		return nil, fmt.Errorf("endpoints are %q, want the path of one file", o.Endpoints)
	}
	c := &sqlservice.Client[*link]{Database: file(o.Endpoints[0]), Settings: o.Settings, Recipe: service.RecipeOf(recipes, o.Settings)}
	return sqlservice.KeepingClient[*link]{Client: c}, nil
}

// The settings of its clients.
var clientSettings = []setting.Setting{
	service.ByRecipe(recipes, &token), sqlservice.Ahead, sqlservice.Unlock, sqlservice.LockTimeout, sqlservice.GiveUp, sqlservice.Look,
}
