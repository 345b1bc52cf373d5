// Package sqlite is the lock service SQLite: a file for each run, the locks that people build
// on tables, and an account of tenures by what the file's own triggers tell.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
	"github.com/fencelab/fencelab/internal/setting"
)

// Name is what scenarios call the service.
const Name = "sqlite"

// Service is SQLite.
type Service struct{ sqlservice.Service[about] }

var (
	_ service.Service = Service{}
	_ service.Bounded = Service{}
	_ service.Keeper  = (*servers)(nil)
)

type about struct{}

// About implements sqlservice.Described.
func (about) About() *sqlservice.About {
	return &sqlservice.About{
		Words:   scenario.Service{Name: Name, Client: clientSettings, Local: true},
		Recipes: recipes, Open: open,
	}
}

// The settings of its clients.
var clientSettings = []setting.Setting{
	service.ByRecipe(recipes, &token), sqlservice.Ahead, sqlservice.Unlock, sqlservice.LockTimeout, sqlservice.GiveUp, sqlservice.Look,
}

// Faults are none: nothing serves a file.
func (Service) Faults() []*service.Fault { return nil }

func (Service) Found() (where, bring string) { return "embedded", "" }

// Where says what At takes.
func (Service) Where() string { return "embedded" }

// At takes nothing else: a run has a file of its own.
func (s Service) At(where string) (service.Service, []string, error) {
	if where != s.Where() {
		return nil, nil, fmt.Errorf("want %q: each run has a file of its own", s.Where())
	}
	return s, nil, nil
}

func (Service) Commands() []*cobra.Command { return nil }

// errNoServer is of what only servers that are there already can be asked.
var errNoServer = errors.New("sqlite: there are no servers, and so no --endpoints: each run has a file of its own")

func (Service) Reach(context.Context, []string) error { return errNoServer }

// Start names the run's files.
func (Service) Start(_ context.Context, stage service.Stage) (service.Servers, error) {
	return newServers(stage, file(filepath.Join(stage.Group().Dir, "locks.db"))), nil
}

// Join is never asked for: before a run joins servers they are reached.
func (Service) Join(service.Stage, []string) service.Servers { panic(errNoServer) }
