package watch

import (
	"context"
	"fmt"
	"net"
	"net/url"

	"github.com/fencelab/fencelab/internal/outside/changes"
	"github.com/fencelab/fencelab/internal/outside/gate"
	"github.com/fencelab/fencelab/internal/service/postgres/postgresproc"
)

// storage is what the program writes to.
type storage struct {
	url     *url.URL
	open    func() (*gate.Gate, error) // opens a gate before it
	account account
}

// account tells what a storage has changed.
type account interface {
	// Changes are what was changed since the last call: a name each, for people. It has all that was answered before.
	Changes(ctx context.Context) ([]string, error)
	Close() error
}

// Schemes are what the program's storage may speak, by the scheme of its URL.
var Schemes = []string{"http", "postgres"}

// openStorage opens the storage of To, or one that gcsim starts: a database where To has no host.
func (w *watch) openStorage(ctx context.Context) (*storage, error) {
	switch {
	case w.To == nil:
		return w.ownStorage()
	case w.To.Scheme == "http":
		return overHTTP(w.To), nil
	}
	to := *w.To
	if to.Host == "" {
		if err := w.startDatabase(ctx, &to); err != nil {
			return nil, err
		}
	}
	if to.Port() == "" {
		to.Host = net.JoinHostPort(to.Hostname(), ports[to.Scheme])
	}
	s := &storage{url: &to}
	var err error
	switch to.Scheme {
	case "postgres":
		s.open = func() (*gate.Gate, error) { return gate.OpenTCP(to.Host, gate.Postgres) }
		s.account, err = changes.OpenPostgres(ctx, to.String(), gate.LockTables)
		q := to.Query()
		q.Set("sslmode", "disable") // the gate reads what the program sends
		s.url.RawQuery = q.Encode()
	}
	return s, err
}

// ports are those of storages of which a URL names none.
var ports = map[string]string{"postgres": "5432"}

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
	return &storage{url: to, account: answers, open: func() (*gate.Gate, error) { return gate.OpenHTTP(to, answers) }}
}

// startDatabase starts the one of a scheme, and completes its URL. The lock service's own, if that is the same, is both.
func (w *watch) startDatabase(ctx context.Context, to *url.URL) error {
	switch to.Scheme {
	case "postgres":
		*to = url.URL{Scheme: to.Scheme, User: url.User("postgres"), Path: "/postgres"}
		if w.Service.Name == to.Scheme {
			to.Host = w.Endpoints[0]
			return nil
		}
		program := postgresproc.Program()
		if program == "" {
			return missing(to.Scheme, postgresproc.Install)
		}
		s, err := postgresproc.Start(ctx, w.stage.Group(), program, "wal_level=logical")
		if err == nil {
			to.Host = s.Endpoint()
		}
		return err
	}
	return nil
}

func missing(name, bring string) error {
	return fmt.Errorf("%s is missing: %s", name, bring)
}
