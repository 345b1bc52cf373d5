package postgres

import (
	"context"
	"crypto/rand"
	"database/sql/driver"
	_ "embed"
	"errors"
	"net"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

// pooled is a PostgreSQL behind a pooler, which may give each transaction of a connection
// another session.
type pooled struct {
	place        // the pooler's
	server place // behind it
}

var _ sqlservice.Keeping[*pgx.Conn] = pooled{}

// sessionName is the setting of a session that has the name of the connection. A pooler
// hands it on, but not the number of the session's process.
const sessionName = "application_name"

// config is how to connect to the database of a lock. No request uses what an earlier one has
// prepared, as it may reach another session.
func (p pooled) config(lock string) (*pgx.ConnConfig, error) {
	config, err := p.place.config(sqlservice.DatabaseOf(lock))
	if err != nil {
		return nil, err
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	return config, nil
}

// Connect implements sqlservice.Keeping, as those below do.
func (p pooled) Connect(ctx context.Context, lock string) (*pgx.Conn, error) {
	config, err := p.config(lock)
	if err != nil {
		return nil, err
	}
	config.RuntimeParams[sessionName] = rand.Text()
	dialOnce(config)
	return p.connectBy(ctx, config)
}

func (p pooled) Pool(lock string) (driver.Connector, error) {
	config, err := p.config(lock)
	if err != nil {
		return nil, err
	}
	once := stdlib.OptionBeforeConnect(func(_ context.Context, one *pgx.ConnConfig) error {
		dialOnce(one)
		return nil
	})
	return stdlib.GetConnector(*config, once), nil
}

// dialOnce has a connection dial no more once it is there. What pgx would dial for then is a
// cancel request, for a request that is left without an answer, and pgbouncer 1.18 can die of
// one (pgbouncer/pgbouncer, pull request 846).
func dialOnce(config *pgx.ConnConfig) {
	dialling, done := context.WithCancel(context.Background())
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if dialling.Err() != nil {
			return nil, errors.New("no cancel request is sent through a pooler")
		}
		return dial(ctx, network, addr)
	}
	config.AfterConnect = func(context.Context, *pgconn.PgConn) error {
		done()
		return nil
	}
}

func (p pooled) Beside(ctx context.Context) (*pgx.Conn, error) { return p.server.Beside(ctx) }

var (
	//go:embed sql/waitsnamed.sql
	waitsNamedStatement string
	//go:embed sql/cancelnamed.sql
	cancelNamedStatement string
)

// Cancel asks the server.
func (p pooled) Cancel(ctx context.Context, conn *pgx.Conn) {
	by, err := p.Beside(ctx)
	if err != nil {
		return
	}
	defer hangUp(by)
	_ = exec(ctx, by, cancelNamedStatement, nameOf(conn))
}

func (pooled) Waits(ctx context.Context, by, conn *pgx.Conn) (waits bool, err error) {
	err = by.QueryRow(ctx, waitsNamedStatement, nameOf(conn)).Scan(&waits)
	return waits, err
}

// nameOf is the name of the session that a connection has, if it has one now.
func nameOf(conn *pgx.Conn) string { return conn.Config().RuntimeParams[sessionName] }
