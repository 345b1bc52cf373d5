// Package sqlite is the lock service SQLite: a file for each run, the locks that people build
// on tables, and an account of tenures by what the file's own triggers tell.
package sqlite

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
	"github.com/fencelab/fencelab/internal/setting"
	"github.com/fencelab/fencelab/pkg/fence"
)

// Service is SQLite.
type Service struct{ Dialer }

var (
	_ service.Service = Service{}
	_ service.Bounded = Service{}
	_ service.Keeper  = (*servers)(nil)
	_ service.Store   = sqlservice.KeepingClient[*link]{}
)

// Words implements service.Service, as those below do.
func (Service) Words() scenario.Service {
	return scenario.Service{
		Name: Name, About: "The lock service.",
		Client: clientSettings, Unqueued: true, Halfway: true, Local: true,
		Compares: func(client scenario.Client) bool { return sqlservice.Compares(recipes, client) },
		Check: func(w scenario.World, clients map[string]scenario.Client) *scenario.Conflict {
			return cmp.Or(sqlservice.CheckUnlock(recipes, clients, &intLock, &intLockDBClock), sqlservice.CheckWait(recipes, w, clients))
		},
	}
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

// Told implements service.Service, as those below do.
func (Service) Told(client string, all map[string]scenario.Client) setting.Values {
	return all[client].Values
}

func (Service) Shows(client setting.Values) string { return service.RecipeOf(recipes, client).Shows }

// Slot is the owner, which clients choose anew for each tenure.
func (Service) Slot(tenure string) string { return tenure }

// Bounds implements service.Bounded.
func (Service) Bounds(_ setting.Values, clients map[string]scenario.Client) (bounds map[string]time.Duration, handover time.Duration) {
	return sqlservice.Bounds(recipes, 0, clients)
}

// errNoServer is of what only servers that are there already can be asked.
var errNoServer = errors.New("sqlite: there are no servers, and so no --endpoints: each run has a file of its own")

func (Service) Reach(context.Context, []string) error { return errNoServer }

// Start makes the run's files.
func (Service) Start(ctx context.Context, stage service.Stage) (service.Servers, error) {
	s := &servers{stage: stage, file: file(filepath.Join(stage.Group().Dir, "locks.db"))}
	if err := s.make(ctx); err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	return s, nil
}

// Join is never asked for: before a run joins servers they are reached.
func (Service) Join(service.Stage, []string) service.Servers { panic(errNoServer) }

var (
	//go:embed sql/schema.sql
	schema string
	//go:embed sql/account.sql
	accountSchema string
)

// account is the file beside a run's file that tells of its holders.
func (f file) account() file { return f + "-held.db" }

// make makes the tables of a file that is there.
func (f file) make(ctx context.Context, tables string) error {
	l, err := f.Connect(ctx, "")
	if err != nil {
		return err
	}
	defer f.HangUp(l)
	if _, err := l.ExecContext(ctx, tables); err != nil {
		return fmt.Errorf("make the tables of %s: %w", f, err)
	}
	return nil
}

// servers are the files of a run.
type servers struct {
	stage service.Stage
	file  file
}

// make makes the files, and their tables.
func (s *servers) make(ctx context.Context) error {
	for _, f := range []file{s.file, s.file.account()} {
		if err := os.WriteFile(string(f), nil, 0o600); err != nil {
			return err
		}
	}
	pool, err := s.file.Pool("")
	if err != nil {
		return err
	}
	if err := sqlservice.CreateTokenTable(ctx, pool, token.Dialect); err != nil {
		return err
	}
	if err := s.file.make(ctx, schema); err != nil {
		return err
	}
	return s.file.account().make(ctx, accountSchema)
}

// Endpoints implements service.Servers, as those below do.
func (s *servers) Endpoints(context.Context, setting.Values) ([]string, error) {
	return []string{string(s.file)}, nil
}

func (s *servers) IssuerArgs() []string { return nil }

// Position is none: the account does not tell who waits.
func (s *servers) Position(context.Context) (fence.Token, error) { return 0, nil }

// Leave has nothing to end: the file goes with the run.
func (s *servers) Leave(context.Context) {}
