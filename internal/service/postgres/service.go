// Package postgres is the lock service PostgreSQL: a real server, the locks that people
// build on it, and an account of tenures by its own log. A recipe is a file here.
package postgres

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/postgres/postgresproc"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
	"github.com/fencelab/fencelab/internal/setting"
)

// Service is PostgreSQL, where the environment says that it is.
func Service() *service.Service { return serviceAt(os.Getenv(urlEnv)) }

// serviceAt is the one at a URL; "" is one that a run starts.
func serviceAt(url string) *service.Service {
	at := placesBy(url)
	s := &service.Service{
		Service: scenario.Service{
			Name: Name, About: "The lock service.",
			World: worldSettings, Client: clientSettings,
			Nodes: nodes.Name + "1", Halfway: true,
			Compares: func(client scenario.Client) bool { return sqlservice.Compares(recipes, client) },
			Check:    check, Own: needsOwn,
		},
		Faults: faults,

		Found: func() (where, bring string) { return postgresproc.Program(), postgresproc.Install },
		Get:   postgresproc.Get,
		Where: whereIs, At: findAt,
		Command: postgresproc.Command, Start: start, Launch: launch, Join: at.join, Reach: at.reach,
		Lacks: lacks,

		Dial: Dial, DefaultEndpoints: []string{"127.0.0.1:5432"},
		Peer:    func(client setting.Values) string { return service.RecipeOf(recipes, client).Peer },
		PeerEnv: at.peerEnv,
		Shows:   func(client setting.Values) string { return service.RecipeOf(recipes, client).Shows },
		Bounds: func(world setting.Values, clients map[string]scenario.Client) (map[string]time.Duration, time.Duration) {
			return sqlservice.Bounds(recipes, world.Time(settingIdle), clients)
		},
	}
	if url != "" {
		s.Env = []string{urlEnv + "=" + url}
	}
	return s
}

const whereIs = "the URL of one that is there already"

// lacks is what a variant needs beside a server.
func lacks(v *scenario.Variant) string {
	if isPooled(v.World.Settings) && postgresproc.PoolerProgram() == "" {
		return "pgbouncer is missing: " + postgresproc.PoolerInstall
	}
	return ""
}

// findAt takes a URL with a user, a password and TLS where there are any.
func findAt(where string) (*service.Service, []string, error) {
	want := fmt.Errorf("want %s such as postgres://USER:PASSWORD@HOST:PORT/DATABASE", whereIs)
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
	return serviceAt(where), []string{net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "5432"))}, nil
}

// nodes is what a story calls its server.
var nodes = service.Nodes{Name: Name, One: "server of PostgreSQL", Many: "PostgreSQL"}

var faults = sqlservice.Faults(nodes)

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

// reachDeadline is for how long a PostgreSQL that is there already is asked.
const reachDeadline = 10 * time.Second

// reach asks one that is there already. A server of which runs cannot have an account is of no
// use.
func (at placeAt) reach(ctx context.Context, endpoints []string) error {
	if len(endpoints) != 1 || !sqlservice.IsAddress(endpoints[0]) {
		return fmt.Errorf("postgres at %q: want one HOST:PORT", endpoints)
	}
	ctx, cancel := context.WithTimeout(ctx, reachDeadline)
	defer cancel()
	conn, err := at(endpoints[0]).connect(ctx, "")
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
