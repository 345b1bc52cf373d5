package postgres

import (
	"context"
	"crypto/rand"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"net/url"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

// urlEnv has the URL of a PostgreSQL that is there already, with its password, where no
// list of processes shows it.
const urlEnv = "FENCELAB_POSTGRES_URL"

// ownURL is the URL of a server that a run has started, without its address. ownDatabase is
// the run's in it.
const (
	ownURL      = "postgres://postgres@/" + ownDatabase + "?sslmode=disable"
	ownDatabase = "postgres"
)

// place is a PostgreSQL, as a program reaches it: the URL but for the address, which is
// apart, as a client's network may be another.
type place struct {
	url, addr string
	behind    string // the address is a pooler's, and this is the server's; "": there is none
}

func open(url string, endpoints []string) (sqlservice.Database, error) {
	if n := len(endpoints); n != 1 && n != 2 {
		return nil, fmt.Errorf("endpoints are %q, want one HOST:PORT, or that of a pooler and that of the server behind it", endpoints)
	}
	p := place{url: url, addr: endpoints[0]}
	if len(endpoints) == 2 {
		p.behind = endpoints[1]
	}
	if _, err := p.config(""); err != nil {
		return nil, fmt.Errorf("endpoints: %w", err)
	}
	return p, nil
}

// server is the PostgreSQL itself.
func (p place) server() place {
	if p.behind != "" {
		p.addr, p.behind = p.behind, ""
	}
	return p
}

// sessionName is the setting of a session that has the name of its connection. A pooler
// hands it on, but not the number of the session's process.
const sessionName = "application_name"

// config is how to connect to the database of a lock, else to that of the URL.
func (p place) config(lock string) (*pgx.ConnConfig, error) {
	u, err := url.Parse(p.url)
	if err != nil {
		return nil, err
	}
	u.Host = p.addr
	if database := sqlservice.DatabaseOf(lock); database != "" {
		u.Path = "/" + database
	}
	config, err := pgx.ParseConfig(u.String())
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["timezone"] = "UTC" // of int_lock's columns, which have none
	if p.behind != "" {
		// No request uses what an earlier one has prepared, as it may reach another session.
		config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	return config, nil
}

func (place) Name() string { return Name }

func (p place) Connect(ctx context.Context, lock string) (sqlservice.Conn, error) {
	config, err := p.config(lock)
	if err != nil {
		return nil, err
	}
	config.RuntimeParams[sessionName] = rand.Text()
	p.dialOnce(config)
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", p.addr, err)
	}
	return &link{conn, p}, nil
}

func (p place) Beside(ctx context.Context) (sqlservice.Conn, error) {
	return p.server().Connect(ctx, "")
}

func (p place) Pool(lock string) (driver.Connector, error) {
	config, err := p.config(lock)
	if err != nil {
		return nil, err
	}
	return stdlib.GetConnector(*config, stdlib.OptionBeforeConnect(func(_ context.Context, one *pgx.ConnConfig) error {
		p.dialOnce(one)
		return nil
	})), nil
}

// dialOnce has a connection to a pooler dial no more once it is there. What pgx would dial for
// then is a cancel request, for a request that is left without an answer, and pgbouncer 1.18 can
// die of one (pgbouncer/pgbouncer, pull request 846).
func (p place) dialOnce(config *pgx.ConnConfig) {
	if p.behind == "" {
		return
	}
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

// jdbc: the driver in Java calls parameters as PostgreSQL does.
func jdbc(u *url.URL, lock string) (driver, path string, parameters url.Values) {
	if path = u.Path; sqlservice.DatabaseOf(lock) != "" {
		path = "/" + sqlservice.DatabaseOf(lock)
	}
	return "postgresql", path, u.Query()
}
