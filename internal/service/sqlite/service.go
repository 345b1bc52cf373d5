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

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
	"github.com/fencelab/fencelab/internal/setting"
)

// Service is SQLite. Nothing serves a file, and so nothing is done to it.
func Service() *service.Service {
	return &service.Service{
		Service: scenario.Service{
			Name: Name, About: "The lock service.",
			Client: clientSettings, Halfway: true, Local: true,
			Compares: func(client scenario.Client) bool { return sqlservice.Compares(recipes, client) },
			Check: func(w scenario.World, clients map[string]scenario.Client) *scenario.Conflict {
				return cmp.Or(sqlservice.CheckUnlock(recipes, clients, &intLock, &intLockDBClock), sqlservice.CheckWait(recipes, w, clients))
			},
		},
		Found: func() (where, bring string) { return embedded, "" },
		Where: embedded,
		At: func(where string) (*service.Service, []string, error) {
			if where != embedded {
				return nil, nil, fmt.Errorf("want %q: each run has a file of its own", embedded)
			}
			return Service(), nil, nil
		},
		Start: start,
		Reach: func(context.Context, []string) error { return errNoServer },

		Dial:  Dial, // which is told its file
		Shows: func(client setting.Values) string { return service.RecipeOf(recipes, client).Shows },
		Bounds: func(_ setting.Values, clients map[string]scenario.Client) (map[string]time.Duration, time.Duration) {
			return sqlservice.Bounds(recipes, 0, clients)
		},
	}
}

const embedded = "embedded"

// errNoServer is of what only servers that are there already can be asked.
var errNoServer = errors.New("sqlite: there are no servers, and so no --endpoints: each run has a file of its own")

// start makes the run's files.
func start(ctx context.Context, stage service.Stage) (service.Servers, error) {
	s := &servers{stage: stage, file: file(filepath.Join(stage.Group().Dir, "locks.db"))}
	if err := s.make(ctx); err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	return s, nil
}

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

// Leave has nothing to end: the file goes with the run.
func (s *servers) Leave(context.Context) {}
