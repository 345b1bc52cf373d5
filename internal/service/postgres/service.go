// Package postgres is the lock service PostgreSQL: a real server, the locks that people
// build on it, and an account of tenures by its own log.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/postgres/postgresproc"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

const Name = "postgres"

// Service is PostgreSQL, where the environment says that it is.
func Service() *service.Service { return serviceAt(os.Getenv(urlEnv)) }

// serviceAt is the service with the server at a URL; "" is a server that a run starts.
func serviceAt(url string) *service.Service {
	d := sqlservice.About{
		Rules: rules, Recipes: recipes, Open: open, Server: launch, Servers: newServers, Started: startPooler, Rights: rights, JDBC: jdbc,
		URL: url, Variable: urlEnv, OwnURL: ownURL,
	}
	d.Service = service.Service{
		Service: scenario.Service{
			Name: Name, World: worldSettings, Client: clientSettings, Nodes: Name + "1",
			Check: checkPool, Own: needsOwn,
		},
		Faults: faults,
		Found:  func() (where, bring string) { return postgresproc.Program(), postgresproc.Install },
		Get:    postgresproc.Get,
		At:     find, DefaultEndpoints: []string{"127.0.0.1:5432"},
		Command: postgresproc.Command, Lacks: lacks,
	}
	return d.Made()
}

var faults = sqlservice.Faults(service.Nodes{Name: Name, One: "server of PostgreSQL", Many: "PostgreSQL"})

// lacks is what a variant needs beside a server.
func lacks(v *scenario.Variant) string {
	if isPooled(v.World.Settings) && postgresproc.PoolerProgram() == "" {
		return "pgbouncer is missing: " + postgresproc.PoolerInstall
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

// needsOwn says why a variant needs a PostgreSQL of its own. Transactions behind a pooler are
// long, and the account of another run would wait for their end before it begins.
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
