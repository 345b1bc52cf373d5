package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
	"github.com/fencelab/fencelab/internal/setting"
)

// Name is what scenarios call the service.
const Name = "sqlite"

// Dialer makes clients of SQLite.
type Dialer struct{}

// Name implements service.Dialer, as those below do.
func (Dialer) Name() string { return Name }

// ClientSettings are those of the recipes.
func (Dialer) ClientSettings() []setting.Setting { return clientSettings }

// DefaultEndpoints is none: a client is told its file.
func (Dialer) DefaultEndpoints() []string { return nil }

// Dial makes a client.
func (Dialer) Dial(o service.Options) (service.Client, error) {
	if len(o.Endpoints) != 1 {
		return nil, fmt.Errorf("endpoints are %q, want the path of one file", o.Endpoints)
	}
	return &sqlservice.Client[*sql.DB]{Database: file(o.Endpoints[0]), Settings: o.Settings, Recipe: service.RecipeOf(recipes, o.Settings)}, nil
}

// file is the path of a database, which each client opens itself.
type file string

var _ sqlservice.Database[*sql.DB] = file("")

// Name implements sqlservice.Database, as those below do.
func (file) Name() string { return Name }

// Connect opens the file. Who finds it locked waits for the writer, up to as long as clients
// wait for an answer. What was committed is with the kernel, and is not synced.
func (f file) Connect(ctx context.Context, _ string) (*sql.DB, error) {
	source := url.URL{Scheme: "file", OmitHost: true, Path: string(f), RawQuery: "mode=rw&_time_integer_format=unix_micro" +
		"&_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)&_pragma=synchronous(off)"}
	db, err := sql.Open("sqlite", source.String())
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", f, err)
	}
	db.SetMaxOpenConns(1)
	if err := db.PingContext(ctx); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("open %s: %w", f, err)
	}
	return db, nil
}

func (file) HangUp(db *sql.DB) { _ = db.Close() }

func (file) Refused(err error) bool { return errors.As(err, new(*sqlite.Error)) }

// recipes are all of them.
var recipes = []*sqlservice.Recipe[*sql.DB]{&token, &intLock, &intLockDBClock}

var (
	//go:embed sql/token_take.sql
	tokenTake string
	//go:embed sql/now.sql
	nowStatement string
)

var token = sqlservice.Token(func(ctx context.Context, db *sql.DB, a *sqlservice.Attempt) (bool, error) {
	err := db.QueryRowContext(ctx, tokenTake, a.Lock, a.Owner, a.TTL().Microseconds()).Scan(&a.Token)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}, changed)

var intLocks = sqlservice.IntLock[*sql.DB]{Changed: changed, Exists: exists, Now: now}

// Those of Spring Integration's JdbcLockRegistry.
var (
	intLock        = intLocks.ByClient()
	intLockDBClock = intLocks.ByDatabase()
)

func changed(ctx context.Context, db *sql.DB, statement string, args ...any) (bool, error) {
	return sqlservice.Changed(ctx, db, statement, args...)
}

func exists(err error) bool {
	var answered *sqlite.Error
	return errors.As(err, &answered) && answered.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY
}

func now(ctx context.Context, db *sql.DB) (time.Time, error) {
	var micros int64
	err := db.QueryRowContext(ctx, nowStatement).Scan(&micros)
	return time.UnixMicro(micros), err
}

// The settings of its clients.
var clientSettings = []setting.Setting{service.ByRecipe(recipes, &token), sqlservice.Ahead, sqlservice.Unlock, sqlservice.Look}
