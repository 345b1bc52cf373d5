// Package postgres is the lock service PostgreSQL: a real server, the locks that people
// build on it, and an account of tenures by its own log. A recipe is a file here.
package postgres

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/postgres/postgresproc"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
	"github.com/fencelab/fencelab/internal/setting"
)

// Service is PostgreSQL.
type Service struct{ Dialer }

var (
	_ service.Service    = Service{}
	_ service.Shared     = Service{}
	_ service.Getter     = Service{}
	_ service.Bounded    = Service{}
	_ service.Keeper     = (*servers)(nil)
	_ service.Store      = sqlservice.KeepingClient[*pgx.Conn]{}
	_ service.Lacking    = Service{}
	_ service.Peered     = Service{}
	_ service.PeerTeller = Service{}
)

// nodes is what a story calls its server.
var nodes = service.Nodes{Name: Name, One: "server of PostgreSQL", Many: "PostgreSQL"}

var faults = sqlservice.Faults(nodes)

// Words implements service.Service, as those below do.
func (Service) Words() scenario.Service {
	return scenario.Service{
		Name: Name, About: "The lock service.",
		World: worldSettings, Client: clientSettings,
		Nodes: nodes.Name + "1", Unqueued: true, Halfway: true,
		Compares: func(client scenario.Client) bool { return sqlservice.Compares(recipes, client) },
		Check:    check, Own: needsOwn,
	}
}

// Faults are steps that no other service has.
func (Service) Faults() []*service.Fault {
	return faults
}

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

// check finds settings that do not go together.
func check(w scenario.World, clients map[string]scenario.Client) *scenario.Conflict {
	return cmp.Or(
		sqlservice.CheckCompare(recipes, w, clients),
		sqlservice.CheckUnlock(recipes, clients, &intLock, &intLockDBClock),
		sqlservice.CheckWrites(recipes, w, clients),
		sqlservice.CheckWait(recipes, w, clients),
		sqlservice.CheckPeers(recipes, w, clients),
		checkPooler(w.Settings, clients))
}

// checkPooler finds what is said of a pooler where there is none.
func checkPooler(world setting.Values, clients map[string]scenario.Client) *scenario.Conflict {
	const none = "there is no pgbouncer: want \"pooler: transaction\", or leave %q out"
	if isPooled(world) {
		return nil
	}
	if world.Text(settingPool) != defaultPool {
		return &scenario.Conflict{Setting: settingPool, Text: fmt.Sprintf(none, settingPool)}
	}
	for _, name := range slices.Sorted(maps.Keys(clients)) {
		if clients[name].Text(settingThrough) != throughPooler {
			return &scenario.Conflict{Client: name, Setting: settingThrough, Text: fmt.Sprintf(none, settingThrough)}
		}
	}
	return nil
}

func isPooled(world setting.Values) bool { return world.Text(settingPooler) != poolerNone }

// Told implements service.Service, as those below do.
func (Service) Told(client string, all map[string]scenario.Client) setting.Values {
	return all[client].Values
}

func (Service) Shows(client setting.Values) string { return service.RecipeOf(recipes, client).Shows }

// Slot is the owner, which clients choose anew for each tenure.
func (Service) Slot(tenure string) string { return tenure }

// Bounds implements service.Bounded.
func (Service) Bounds(world setting.Values, clients map[string]scenario.Client) (bounds map[string]time.Duration, handover time.Duration) {
	return sqlservice.Bounds(recipes, world.Time(settingIdle), clients)
}

// reachDeadline is for how long a PostgreSQL that is there already is asked.
const reachDeadline = 10 * time.Second

// Reach implements service.Service. A server of which runs cannot have an account is of no
// use.
func (Service) Reach(ctx context.Context, endpoints []string) error {
	if len(endpoints) != 1 || !sqlservice.IsAddress(endpoints[0]) {
		return fmt.Errorf("postgres at %q: want one HOST:PORT", endpoints)
	}
	ctx, cancel := context.WithTimeout(ctx, reachDeadline)
	defer cancel()
	conn, err := placeAt(endpoints[0]).connect(ctx, "")
	if err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	defer hangUp(conn)
	var level string
	var may bool
	if err := conn.QueryRow(ctx, rightsStatement).Scan(&level, &may); err != nil {
		return fmt.Errorf("postgres at %s: %w", endpoints[0], err)
	}
	switch {
	case level != "logical":
		return fmt.Errorf("postgres at %s has the wal_level %s, and runs see who holds its locks by logical decoding: set wal_level = logical", endpoints[0], level)
	case !may:
		return fmt.Errorf("postgres at %s: the user of the URL may not make databases and slots: ALTER ROLE … CREATEDB REPLICATION", endpoints[0])
	}
	return nil
}
