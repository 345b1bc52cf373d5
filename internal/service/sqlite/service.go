// Package sqlite is the lock service SQLite: a file for each run, the locks that people build
// on tables, and an account of tenures by what the file's own triggers tell.
package sqlite

import (
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
)

// Words implements service.Service, as those below do.
func (Service) Words() scenario.Service {
	return scenario.Service{
		Name: Name, About: "The lock service.",
		Client: clientSettings, Unqueued: true, Halfway: true, Local: true,
		Check: func(_ setting.Values, clients map[string]scenario.Client) *scenario.Conflict {
			return sqlservice.CheckUnlock(recipes, clients, &intLock, &intLockDBClock)
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
	return sqlservice.Bounds(0, clients)
}

// errNoServer is of what only servers that are there already can be asked.
var errNoServer = errors.New("sqlite: there are no servers, and so no --endpoints: each run has a file of its own")

func (Service) Reach(context.Context, []string) error { return errNoServer }

// Start makes the run's file.
func (Service) Start(ctx context.Context, stage service.Stage) (service.Servers, error) {
	path := filepath.Join(stage.Group().Dir, "locks.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	s := &servers{stage: stage, file: file(path)}
	return s, s.make(ctx)
}

// Join is never asked for: before a run joins servers they are reached.
func (Service) Join(service.Stage, []string) service.Servers { panic(errNoServer) }

//go:embed sql/schema.sql
var schema string

// servers are the file of a run.
type servers struct {
	stage service.Stage
	file  file
}

// make makes the tables, and the rows that are there before anybody takes a lock.
func (s *servers) make(ctx context.Context) error {
	db, err := s.file.Connect(ctx, "")
	if err != nil {
		return err
	}
	defer s.file.HangUp(db)
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return fmt.Errorf("make the tables: %w", err)
	}
	for _, lock := range s.stage.Locks() {
		if _, err := db.ExecContext(ctx, "INSERT INTO token_lock (name) VALUES (?)", lock); err != nil {
			return fmt.Errorf("make the rows: %w", err)
		}
	}
	return nil
}

// Observe implements service.Servers, as those below do. The file has this machine's clock.
func (s *servers) Observe(ctx context.Context) error {
	db, err := s.file.Connect(ctx, "")
	if err != nil {
		return fmt.Errorf("observer: %w", err)
	}
	account := sqlservice.NewAccount(Name, s.stage)
	log := &sqlservice.Log{Locks: s.stage.Locks()}
	round := func(ctx context.Context) error {
		err := log.Take(ctx, db, account)
		account.Expire()
		return err
	}
	sqlservice.Follow(ctx, s.stage, nil, account, round, func() { s.file.HangUp(db) })
	return nil
}

func (s *servers) Endpoints(context.Context, setting.Values) ([]string, error) {
	return []string{string(s.file)}, nil
}

func (s *servers) IssuerArgs() []string { return nil }

// Position is none: the account does not tell who waits.
func (s *servers) Position(context.Context) (fence.Token, error) { return 0, nil }

// Leave has nothing to end: the file goes with the run.
func (s *servers) Leave(context.Context) {}
