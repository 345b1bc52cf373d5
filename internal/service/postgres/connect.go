package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

// urlEnv has the URL of a PostgreSQL that is there already, with its password, where no list of processes shows it.
const urlEnv = "FENCELAB_POSTGRES_URL"

// ownURL is the URL of a server that a run has started, without its address. ownDatabase is the run's in it.
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

var answers = map[string]sqlservice.Answer{"55P03": sqlservice.GaveUp, "57014": sqlservice.Canceled, "23505": sqlservice.Exists}

func (place) Answer(err error) sqlservice.Answer {
	if answered, is := errors.AsType[*pgconn.PgError](err); is {
		return cmp.Or(answers[answered.Code], sqlservice.Refused)
	}
	return sqlservice.Unanswered
}

type link struct {
	*pgx.Conn
	to place
}

func (l *link) Run(ctx context.Context, statement string, args ...any) (bool, error) {
	tag, err := l.Exec(ctx, statement, args...)
	return err == nil && tag.RowsAffected() > 0, err
}

func (l *link) Row(ctx context.Context, statement string, args ...any) sqlservice.Row {
	return l.QueryRow(ctx, statement, args...)
}

func (l *link) HangUp() {
	ctx, cancel := context.WithTimeout(context.Background(), service.LastAnswer)
	defer cancel()
	_ = l.Close(ctx) // what it had ends with it
}

func (l *link) Begin(ctx context.Context) error {
	_, err := l.Exec(ctx, "BEGIN")
	return err
}

func (l *link) Hurry(ctx context.Context, long time.Duration) error {
	inTransaction := l.PgConn().TxStatus() == 'T'
	_, err := l.Exec(ctx, "SELECT set_config('lock_timeout', $1, $2)", strconv.FormatInt(long.Milliseconds(), 10), inTransaction)
	return err
}

// name is the name of the session that the connection has, if it has one now.
func (l *link) name() string { return l.Config().RuntimeParams[sessionName] }

// Cancel asks the server itself.
func (l *link) Cancel(ctx context.Context) {
	if by, err := l.to.Beside(ctx); err == nil {
		defer by.HangUp()
		_, _ = by.Run(ctx, statement("cancelnamed"), l.name())
	}
}

func (l *link) Waits(ctx context.Context, by sqlservice.Conn) (waits bool, err error) {
	err = by.Row(ctx, statement("waitsnamed"), l.name()).Scan(&waits)
	return waits, err
}

func (l *link) Ended(ctx context.Context) bool {
	for {
		if _, err := l.WaitForNotification(ctx); err != nil {
			return ctx.Err() == nil || l.IsClosed()
		}
	}
}

// look reads the row, and has a message tell of it.
func look(ctx context.Context, conn sqlservice.Conn, a *sqlservice.Attempt, by, kind string) (seen sqlservice.Seen, err error) {
	err = conn.Row(ctx, statement("resource_look"), a.Lock, messagePrefix+kind, a.Owner, by).Scan(&seen.Version, &seen.Status, nil)
	return seen, err
}

func (l *link) Find(ctx context.Context, lock, key string, told []history.Event) (value *string, err error) {
	err = l.QueryRow(ctx, statement("resource_read"), lock, key, sqlservice.InJSON(told)).Scan(&value, nil)
	return value, err
}

// Change is one UPDATE.
func (l *link) Change(ctx context.Context, c *sqlservice.Change) (now sqlservice.Seen, made bool, err error) {
	set, deleted := make(map[string]string), []string{}
	for _, e := range c.Told {
		if value := sqlservice.After(e); value != nil {
			set[e.Key] = *value
		} else {
			deleted = append(deleted, e.Key)
		}
	}
	told := sqlservice.InJSON(c.Told)
	err = l.QueryRow(ctx, statement("resource_write"), c.Lock, set, deleted, told, c.Compare, c.Read.Version, c.Read.Status, c.Tenure).
		Scan(&now.Version, &now.Status, nil)
	if c.Compare == "" || !errors.Is(err, pgx.ErrNoRows) {
		return now, err == nil, err
	}
	err = l.QueryRow(ctx, statement("resource_refused"), c.Lock, told).Scan(&now.Version, &now.Status, nil)
	return now, false, err
}
