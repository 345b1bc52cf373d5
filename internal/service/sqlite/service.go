// Package sqlite is the lock service SQLite: a file for each run, the locks that people build
// on tables, and an account of tenures by what the file's own triggers tell.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

// Name is what scenarios call the service.
const Name = "sqlite"

// Service is SQLite. Nothing serves a file, and so nothing is done to it.
func Service() *service.Service {
	d := sqlservice.About{Recipes: recipes, Open: open, Service: service.Service{
		Service: scenario.Service{Name: Name, Client: clientSettings, Local: true},
		Found:   func() (where, bring string) { return embedded, "" }, Where: embedded,
		At: func(where string) (*service.Service, []string, error) {
			if where != embedded {
				return nil, nil, fmt.Errorf("want %q: each run has a file of its own", embedded)
			}
			return Service(), nil, nil
		},
		Start: start,
		Reach: func(context.Context, []string) error { return errNoServer },
	}}
	return d.Made()
}

const embedded = "embedded"

// The settings of its clients.
var clientSettings = []setting.Setting{
	service.ByRecipe(recipes, &token), sqlservice.Ahead, sqlservice.Unlock, sqlservice.LockTimeout, sqlservice.GiveUp, sqlservice.Look,
}

// errNoServer is of what only servers that are there already can be asked.
var errNoServer = errors.New("sqlite: there are no servers, and so no --endpoints: each run has a file of its own")

// start names the run's files.
func start(_ context.Context, stage service.Stage) (service.Servers, error) {
	return newServers(stage, file(filepath.Join(stage.Group().Dir, "locks.db"))), nil
}
