package watch

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/outside/changes"
	"github.com/fencelab/fencelab/internal/outside/gate"
	"github.com/fencelab/fencelab/internal/service/mariadb/mariadbproc"
	"github.com/fencelab/fencelab/internal/service/postgres/postgresproc"
	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
)

// storage is what the program writes to.
type storage struct {
	url     *url.URL
	open    func(addr string) (*gate.Gate, error) // opens a gate before it; it is at this address
	account account
}

// account tells what a storage has changed.
type account interface {
	// Changes are what was changed since the last call: a name each, for people. It has all that was answered before.
	Changes(ctx context.Context) ([]string, error)
	Close() error
}

// schemeHTTP is the scheme of a storage whose account is its answers.
const schemeHTTP = "http"

// kind is a kind of storage whose account is its own log.
type kind struct {
	port    string
	program func() string // "": it is missing, and bring is the command that brings it
	bring   string
	at      url.URL                                       // of one that gcsim starts, but its host
	start   func(*watch, context.Context, *url.URL) error // starts one, and completes its URL
	open    func(*watch, context.Context, *url.URL) (*storage, error)
}

// kinds are those, by the scheme of their URLs.
var kinds = map[string]kind{
	"postgres": {
		port: "5432", program: postgresproc.Program, bring: postgresproc.Install, start: startPostgres, open: openPostgres,
		at: url.URL{Scheme: "postgres", User: url.User("postgres"), Path: "/postgres", RawQuery: "sslmode=disable"},
	},
	"mariadb": {
		port: "3306", program: mariadbproc.Program, bring: mariadbproc.Install, start: startMariaDB, open: openMariaDB,
		at: url.URL{Scheme: "mariadb", User: url.User("root"), Path: "/" + mariaDatabase},
	},
	"redis": {
		port: "6379", program: redisproc.Program, bring: redisproc.Install, start: startRedis, open: openRedis,
		at: url.URL{Scheme: "redis"},
	},
}

// Schemes are what the program's storage may speak, by the scheme of its URL.
var Schemes = append([]string{schemeHTTP}, slices.Sorted(maps.Keys(kinds))...)

// unfenced is what names a storage of gcsim's that checks no tokens.
const unfenced = "unfenced"

// StorageAt reads where a program's storage is: a URL, or what gcsim is to start, which has no host.
func StorageAt(to string) (at *url.URL, checksNone bool, err error) {
	if to == "" || to == unfenced {
		return nil, to != "", nil
	}
	if !strings.Contains(to, ":") {
		to += ":"
	}
	if at, err = url.Parse(to); err != nil {
		return nil, false, err
	}
	at.Scheme = cmp.Or(map[string]string{"postgresql": "postgres", "mysql": "mariadb"}[at.Scheme], at.Scheme)
	if !slices.Contains(Schemes, at.Scheme) || at.Host == "" && (at.Scheme == schemeHTTP || at.Opaque+at.Path != "") {
		return nil, false, fmt.Errorf("got %q, want the URL of a storage such as http://127.0.0.1:8080, by one of %s; or one of these names but http, or %q, for one that gcsim starts", to, strings.Join(Schemes, ", "), unfenced)
	}
	return at, false, nil
}

// openStorage opens the storage of To, or one that gcsim starts, if that has no host. If the lock service is of the same
// kind, it is both.
func (w *watch) openStorage(ctx context.Context) (*storage, error) {
	switch {
	case w.To == nil:
		return w.ownStorage()
	case w.To.Scheme == schemeHTTP:
		return overHTTP(w.To), nil
	}
	k, to := kinds[w.To.Scheme], *w.To
	if to.Host == "" {
		if k.program() == "" {
			return nil, fmt.Errorf("%s is missing: %s", to.Scheme, k.bring)
		}
		to = k.at
		if w.Service.Name == to.Scheme {
			to.Host = w.Endpoints[0]
		} else if err := k.start(w, ctx, &to); err != nil {
			return nil, err
		}
	}
	to.Host = net.JoinHostPort(to.Hostname(), cmp.Or(to.Port(), k.port))
	return k.open(w, ctx, &to)
}

func (w *watch) ownStorage() (*storage, error) {
	var more []string
	if w.Unfenced {
		more = []string{"--fencing", "off"}
	}
	if err := w.stage.StartStorage(more...); err != nil {
		return nil, err
	}
	to, err := url.Parse(w.stage.Storage)
	return overHTTP(to), err
}

func overHTTP(to *url.URL) *storage {
	answers := new(gate.Answers)
	return &storage{url: &url.URL{Scheme: to.Scheme}, account: answers, open: func(string) (*gate.Gate, error) { return gate.OpenHTTP(to, answers) }}
}

// overTCP is a storage at a URL with an account, and an error if that could not be begun.
func overTCP(to *url.URL, p gate.Protocol, a account, err error) (*storage, error) {
	return &storage{url: to, account: a, open: func(addr string) (*gate.Gate, error) { return gate.OpenTCP(addr, p) }}, err
}

func startPostgres(w *watch, ctx context.Context, to *url.URL) error {
	s, err := postgresproc.Start(ctx, w.stage.Group(), postgresproc.Program(), "wal_level=logical")
	if err == nil {
		to.Host = s.Endpoint()
	}
	return err
}

func openPostgres(_ *watch, ctx context.Context, to *url.URL) (*storage, error) {
	a, err := changes.OpenPostgres(ctx, to.String(), gate.LockTables)
	seen := *to
	q := seen.Query()
	q.Set("sslmode", "disable") // the gate reads what the program sends
	seen.RawQuery = q.Encode()
	return overTCP(&seen, gate.Postgres, a, err)
}

// mariaDatabase is the database of a MariaDB that gcsim starts; a lock service's has the same one.
const mariaDatabase = "gcsim"

func startMariaDB(w *watch, ctx context.Context, to *url.URL) error {
	s, err := mariadbproc.Start(ctx, w.stage.Group(), mariadbproc.Program(), "log-bin=binlog", "server-id=1", "binlog-format=ROW")
	if err != nil {
		return err
	}
	to.Host = s.Endpoint()
	db, err := sql.Open("mysql", s.Config().FormatDSN())
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, "CREATE DATABASE "+mariaDatabase)
	return err
}

func openMariaDB(_ *watch, ctx context.Context, to *url.URL) (*storage, error) {
	a, err := changes.OpenMariaDB(ctx, to, gate.LockTables)
	return overTCP(to, gate.MariaDB, a, err)
}

func startRedis(w *watch, ctx context.Context, to *url.URL) error {
	s, err := redisproc.Start(ctx, w.stage.Group(), redisproc.Program(), redisproc.Settings(w.stage.Group().Dir, "none")...)
	if err == nil {
		to.Host = s.Endpoint()
	}
	return err
}

func openRedis(w *watch, ctx context.Context, to *url.URL) (*storage, error) {
	a, writes, err := changes.OpenRedis(ctx, to.String(), func(key string) bool { return gate.OfLock(key, w.Lock) })
	return overTCP(to, gate.Redis(writes, w.Lock), a, err)
}
