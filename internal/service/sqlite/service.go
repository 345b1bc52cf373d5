// Package sqlite is the lock service SQLite: a file for each run, the locks that people build
// on tables, and an account of tenures by what the file's own triggers tell.
package sqlite

import (
	"context"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/platform/kernel"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
	"github.com/fencelab/fencelab/pkg/lock/sqllock"
)

const Name = "sqlite"

// Service is SQLite. Nothing serves a file, and so nothing is done to it.
func Service() *service.Service {
	d := sqlservice.About{Recipes: recipes, Open: open, Service: service.Service{
		Service: scenario.Service{Name: Name, Client: clientSettings, Local: true},
		Start:   start,
	}}
	return d.Made().Embed("each run has a file of its own")
}

var clientSettings = []setting.Setting{
	service.ByRecipe(recipes, &token), java.Ahead, sqlservice.Unlock, sqlservice.LockTimeout, sqlservice.GiveUp, sqlservice.Look,
}

func start(_ context.Context, stage service.Stage) (service.Servers, error) {
	return newServers(stage, file(filepath.Join(stage.Group().Dir, "locks.db"))), nil
}

//go:embed sql/*.sql
var files embed.FS

var statement = sqlservice.Statements(files)

var recipes = []*sqlservice.Recipe{&token, &intLock, &intLockDBClock, &immediate}

// Those of all databases.
var (
	token          = sqlservice.Token(sqllock.SQLite)
	intLock        = sqlservice.IntLock()
	intLockDBClock = sqlservice.IntLockDBClock(func(ctx context.Context, conn sqlservice.Conn) (time.Time, error) {
		var micros int64
		err := conn.Row(ctx, "SELECT CAST(unixepoch('subsec') * 1000 AS integer) * 1000").Scan(&micros)
		return time.UnixMicro(micros), err
	})
)

// immediate has the file's lock, whichever lock it asks for. Its row in the table finished is
// seen when the transaction is over.
var immediate = sqlservice.Recipe{
	ID: "immediate", Shows: sqlservice.NoToken,
	Text: "BEGIN IMMEDIATE; the holder keeps the transaction open. It alone can write to the file, whichever lock it was taken for.",
	Hold: func(ctx context.Context, conn sqlservice.Conn, a *sqlservice.Attempt) error {
		l := conn.(*link)
		if err := l.beginImmediate(ctx); err != nil {
			return err
		}
		if _, err := l.Run(ctx, "INSERT INTO finished VALUES ($1)", a.Owner); err != nil {
			return err
		}
		return tell(ctx, l.file.account(), a)
	},
}

// tell tells the account that this process has the file's lock. The account is a file of its
// own, as nobody can see what a transaction has not committed. The time is the process's: SQLite's
// has milliseconds.
func tell(ctx context.Context, account file, a *sqlservice.Attempt) error {
	l, err := account.open(ctx)
	if err != nil {
		return err
	}
	defer l.HangUp()
	_, err = l.Run(ctx, "INSERT INTO held (name, owner, at, process) VALUES ($1, $2, $3, $4)", a.Lock, a.Owner, time.Now().UnixMicro(), os.Getpid())
	return err
}

// servers are the files of a run. They have this machine's clock.
type servers struct {
	sqlservice.Servers
	file  file
	index *os.File // the shared memory of the run's file, on which SQLite has its locks
}

func newServers(stage service.Stage, f file) *servers {
	s := &servers{file: f}
	s.Servers = sqlservice.Servers{
		Stage: stage, Database: f, Observer: s, Address: string(f), Found: found,
		Account: sqlservice.NewAccount(Name, stage, recipes, s.goesOn),
	}
	return s
}

// account is the file beside a run's file that tells of its holders.
func (f file) account() file { return f + "-held.db" }

func (s *servers) Make(ctx context.Context) error {
	for _, f := range []file{s.file, s.file.account()} {
		if err := os.WriteFile(string(f), nil, 0o600); err != nil {
			return err
		}
	}
	if err := s.MakeTables(ctx, token.Dialect, statement("schema")); err != nil {
		return err
	}
	account, err := s.file.account().open(ctx)
	if err != nil {
		return err
	}
	defer account.HangUp()
	_, err = account.Run(ctx, statement("account"))
	return err
}

func (s *servers) Open(ctx context.Context) error {
	for f, to := range map[file]**sqlservice.Link{s.file: &s.Told, s.file.account(): &s.Held} {
		l, err := f.open(ctx)
		if err != nil {
			return err
		}
		*to = l.Link
	}
	if err := s.Round(ctx); err != nil { // the first read makes the shared memory
		return err
	}
	var err error
	s.index, err = os.Open(string(s.file) + "-shm")
	return err
}

// Shut closes the shared memory last: whoever closes it loses all locks that this process has on it.
func (s *servers) Shut() {
	s.Servers.Shut()
	_ = s.index.Close()
}

// goesOn asks whether a transaction goes on: it is not committed, and its process has the lock.
func (s *servers) goesOn(ctx context.Context, t sqlservice.Told) (on bool, err error) {
	var committed bool
	err = s.Told.Row(ctx, "SELECT EXISTS (SELECT * FROM finished WHERE owner = $1)", t.Owner).Scan(&committed)
	if committed || err != nil {
		return false, err
	}
	// It is the kernel that knows. 0 is nobody.
	writer, err := kernel.Writer(s.index, writeLock)
	if err != nil {
		return false, fmt.Errorf("ask who has the file's lock: %w", err)
	}
	return writer == t.Process, nil
}

// writeLock is the byte of the shared memory that who writes has locked, as SQLite's
// documentation of the WAL-index file says.
const writeLock = 120
