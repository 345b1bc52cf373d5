// Package postgres is the lock service PostgreSQL: a real server, the locks that people
// build on it, and an account of tenures by its own log.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/postgres/postgresproc"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
	"github.com/fencelab/fencelab/internal/setting"
)

// Name is what scenarios call the service.
const Name = "postgres"

// Service is PostgreSQL.
type Service struct{ sqlservice.Served[about] }

var (
	_ service.Service    = Service{}
	_ service.Shared     = Service{}
	_ service.Getter     = Service{}
	_ service.Bounded    = Service{}
	_ service.Keeper     = (*servers)(nil)
	_ service.Lacking    = Service{}
	_ service.Peered     = Service{}
	_ service.PeerTeller = Service{}
)

type about struct{}

// About implements sqlservice.Described.
func (about) About() *sqlservice.About {
	return &sqlservice.About{
		Words: scenario.Service{
			Name: Name, World: worldSettings, Client: clientSettings, Nodes: Name + "1",
			Check: checkPool, Own: needsOwn,
		},
		Rules: rules, Recipes: recipes, Usual: []string{"127.0.0.1:5432"}, Open: open, Start: start, Rights: rights,
	}
}

var faults = sqlservice.Faults(service.Nodes{Name: Name, One: "server of PostgreSQL", Many: "PostgreSQL"})

// Faults are steps that no other service has.
func (Service) Faults() []*service.Fault { return faults }

// Found is "" where there is no postgres.
func (Service) Found() (where, bring string) {
	return postgresproc.Program(), postgresproc.Install
}

// Get implements service.Getter.
func (Service) Get(ctx context.Context, progress io.Writer) error {
	return postgresproc.Get(ctx, progress)
}

// Lacks implements service.Lacking.
func (Service) Lacks(v *scenario.Variant) string {
	if isPooled(v.World.Settings) && postgresproc.PoolerProgram() == "" {
		return "pgbouncer is missing: " + postgresproc.PoolerInstall
	}
	return ""
}

// Where says what At takes.
func (Service) Where() string { return "the URL of one that is there already" }

// At takes a URL with a user, a password and TLS where there are any. The clients are told
// of it by the environment.
func (s Service) At(where string) (service.Service, []string, error) {
	want := fmt.Errorf("want %s such as postgres://USER:PASSWORD@HOST:PORT/DATABASE", s.Where())
	u, err := url.Parse(where)
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("%w: %w", want, err)
	case u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Hostname() == "":
		return nil, nil, want
	}
	if _, err := pgx.ParseConfig(where); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", want, err)
	}
	port := u.Port()
	if port == "" {
		port = "5432"
	}
	return s, []string{net.JoinHostPort(u.Hostname(), port)}, os.Setenv(urlEnv, where)
}

// Commands has the process of a server.
func (Service) Commands() []*cobra.Command { return []*cobra.Command{postgresproc.Command()} }

// needsOwn says why a variant needs a PostgreSQL of its own. Transactions behind a pooler are
// long, and the account of another run would wait for their end before it begins.
func needsOwn(world setting.Values, _ map[string]scenario.Client) (why []string) {
	if isPooled(world) {
		why = append(why, "puts a pgbouncer before PostgreSQL")
	}
	return why
}

// rights says what a server lacks.
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
