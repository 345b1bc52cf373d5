// Package postgres is the lock service PostgreSQL: a real server, the locks that people
// build on it, and an account of tenures by its own log.
package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/postgres/postgresproc"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
	"github.com/fencelab/fencelab/pkg/lock/sqllock"
)

const Name = "postgres"

// Service is PostgreSQL, where the environment says that it is.
func Service() *service.Service { return serviceAt(os.Getenv(urlEnv)) }

// serviceAt is the service with the server at a URL; "" is a server that a run starts.
func serviceAt(url string) *service.Service {
	d := sqlservice.About{
		Rules: rules, Recipes: recipes, Open: open, Server: launch, Launched: launched, Pair: &pair, Servers: newServers, Started: startPooler, Rights: rights, JDBC: jdbc,
		URL: url, Variable: urlEnv, OwnURL: ownURL,
	}
	d.Service = service.Service{
		Service: scenario.Service{
			Name: Name, World: worldSettings, Client: clientSettings, Nodes: Name + "[12]",
			Check: check, Own: needsOwn,
		},
		Faults: faults,
		Found:  func() (where, bring string) { return postgresproc.Program(), postgresproc.Install },
		Whole:  postgresproc.Whole,
		Get:    postgresproc.Get,
		At:     find, DefaultEndpoints: []string{"127.0.0.1:5432"},
		Command: postgresproc.Command, Lacks: lacks, Model: inModel,
	}
	return d.Made()
}

var faults = append(sqlservice.Faults(service.Nodes{Name: Name, One: "server of PostgreSQL", Many: "PostgreSQL"}),
	sqlservice.StandbyFaults(Name, "PostgreSQL")...)

// lacks is what a variant needs beside a server.
func lacks(v *scenario.Variant) string {
	if isPooled(v.World.Settings) && postgresproc.PoolerProgram() == "" {
		return "pgbouncer is missing: " + postgresproc.PoolerInstall
	}
	if sqlservice.HasStandby(v.World.Settings) && !postgresproc.CanFollow() {
		return "pg_basebackup, which copies a server for its standby, is missing: " + postgresproc.StandbyInstall
	}
	return ""
}

// find takes a URL with a user, a password and TLS where there are any.
func find(where string) (*service.Service, []string, error) {
	addr, err := sqlservice.AddressIn(where, "postgres://USER:PASSWORD@HOST:PORT/DATABASE", "5432", "postgres", "postgresql")
	if err != nil {
		return nil, nil, err
	}
	if _, err := pgx.ParseConfig(where); err != nil {
		return nil, nil, err
	}
	return serviceAt(where), []string{addr}, nil
}

// needsOwn says why a variant needs a PostgreSQL of its own.
func needsOwn(world setting.Values, _ map[string]scenario.Client) (why []string) {
	if isPooled(world) {
		why = append(why, "puts a pgbouncer before PostgreSQL")
	}
	return why
}

func rights(ctx context.Context, conn sqlservice.Conn) error {
	var level string
	var may bool
	if err := conn.Row(ctx, statement("rights")).Scan(&level, &may); err != nil {
		return err
	}
	switch {
	case level != "logical":
		return fmt.Errorf("it has the wal_level %s, and runs see who holds its locks by logical decoding: set wal_level = logical", level)
	case !may:
		return errors.New("the user of the URL may not make databases and slots: ALTER ROLE … CREATEDB REPLICATION")
	}
	return nil
}

type recipe = sqlservice.Recipe

//go:embed sql/*.sql
var files embed.FS

var statement = sqlservice.Statements(files)

var recipes = []*recipe{&token, &tokenClock, &intLock, &intLockDBClock, &springJDBC, &shedLock, &shedLockDBTime, &forUpdate, &forUpdateNaive, &forUpdateSkip, &advisory, &advisoryTransaction, &version, &status}

// Those of all databases.
var (
	token          = sqlservice.Token(sqllock.PostgreSQL)
	intLock        = sqlservice.IntLock()
	intLockDBClock = sqlservice.IntLockDBClock(func(ctx context.Context, conn sqlservice.Conn) (now time.Time, err error) {
		err = conn.Row(ctx, statement("int_lock_now")).Scan(&now)
		return now, err
	})
	springJDBC     = sqlservice.SpringJDBC()
	shedLock       = sqlservice.ShedLock()
	shedLockDBTime = sqlservice.ShedLockDBTime()
	version        = sqlservice.Version(look)
	status         = sqlservice.Status(look)
)

// tokenClock takes the lock of token by a statement of its own.
var tokenClock = recipe{
	ID: "token-clock", Shows: history.ShowsGrant,
	Text: "The row of token. The UPDATE that takes the lock makes the token one higher, and not lower than the database's clock, in microseconds since 1970. Nothing renews the lease.",
	Take: func(ctx context.Context, conn sqlservice.Conn, a *sqlservice.Attempt) (bool, error) {
		err := conn.Row(ctx, statement("take_clock"), a.Lock, a.Owner, a.TTL().Milliseconds()).Scan(&a.Token)
		if errors.Is(err, pgx.ErrNoRows) {
			return false, nil
		}
		return err == nil, err
	},
	Free: func(ctx context.Context, conn sqlservice.Conn, a *sqlservice.Attempt) (bool, error) {
		return conn.Run(ctx, "UPDATE fence_locks SET owner = '' WHERE scope = $1 AND owner = $2", a.Lock, a.Owner)
	},
}

// Those that a connection has.
var (
	// forUpdate has one row for each lock, which was there before.
	forUpdate = recipe{
		ID: "for-update", Shows: sqlservice.NoToken, Hold: sqlservice.Holding(statement("for_update")),
		Text: "SELECT … FOR UPDATE of a row that is there; the holder keeps the transaction open.",
	}
	// forUpdateNaive locks what it finds, and where it finds nothing it locks nothing.
	forUpdateNaive = recipe{
		ID: "for-update-naive", Shows: sqlservice.NoToken, Hold: findOrInsert("naive_find"),
		Text: "As for-update, of a row that is inserted where there is none, in a table without a unique name.",
	}
	// forUpdateSkip takes what it skips for what is not there.
	forUpdateSkip = recipe{
		ID: "for-update-skip", Shows: sqlservice.NoToken, Hold: findOrInsert("skip_find"),
		Text: "As for-update-naive, with SKIP LOCKED: it takes a row that another has locked for one that is not there.",
	}
	// advisory is a lock on a number, which the session has.
	advisory = recipe{
		ID: "advisory", Shows: sqlservice.NoToken, Session: true,
		Text: "pg_advisory_lock, which the session has until it unlocks or ends.",
		Hold: func(ctx context.Context, conn sqlservice.Conn, a *sqlservice.Attempt) error {
			if a.Settings.Text(settingIdleSession) == idleSessionStays {
				if _, err := conn.Run(ctx, "SET idle_session_timeout = 0"); err != nil {
					return err
				}
			}
			_, err := conn.Run(ctx, statement("advisory"), a.Lock, a.Owner)
			return err
		},
		Release: func(ctx context.Context, conn sqlservice.Conn, a *sqlservice.Attempt) error {
			var had bool
			err := conn.Row(ctx, "SELECT pg_advisory_unlock(hashtextextended($1, 0))", a.Lock).Scan(&had)
			if err == nil && !had {
				return sqlservice.ErrElsewhere
			}
			return err
		},
	}
	// advisoryTransaction is one that the transaction has.
	advisoryTransaction = recipe{
		ID: "advisory-transaction", Shows: sqlservice.NoToken, Hold: sqlservice.Holding(statement("advisory_transaction")),
		Text: "pg_advisory_xact_lock, which the transaction has until it ends.",
	}
)

// findOrInsert makes a Hold that inserts a row where the named statement finds none.
func findOrInsert(find string) func(context.Context, sqlservice.Conn, *sqlservice.Attempt) error {
	return func(ctx context.Context, conn sqlservice.Conn, a *sqlservice.Attempt) error {
		found, err := conn.Run(ctx, statement(find), a.Lock, a.Owner)
		if found || err != nil {
			return err
		}
		_, err = conn.Run(ctx, statement("naive_insert"), a.Lock, a.Owner)
		return err
	}
}
