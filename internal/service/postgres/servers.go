package postgres

import (
	"cmp"
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/postgres/postgresproc"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

// servers are the one PostgreSQL of a run.
type servers struct {
	sqlservice.Servers
	pooler    string // its address; "": there is none
	database  string // of the run; "": the server is
	conn      *link  // the observer's
	confirmed string // up to where the log was read
}

func newServers(stage service.Stage, at place) *servers {
	s := &servers{database: sqlservice.DatabaseOf(stage.Plan().Prefix)}
	s.Servers = sqlservice.Servers{
		Stage: stage, Database: at, Observer: s, Address: at.addr,
		Account: sqlservice.NewAccount(Name, stage, recipes, s.goesOn),
		Found:   "SELECT data->>$1 FROM resource WHERE data ? $1",
		Drop:    "DROP DATABASE IF EXISTS " + quoted(s.database) + " WITH (FORCE)",
	}
	return s
}

// launch starts a server.
func launch(ctx context.Context, g *proc.Group, _ setting.Values) (sqlservice.Server, error) {
	return postgresproc.Start(ctx, g, postgresproc.Program(), "wal_level=logical", "max_replication_slots=64", "max_connections=200")
}

// start starts the run's own.
func start(ctx context.Context, stage service.Stage) (service.Servers, error) {
	server, err := launch(ctx, stage.Group(), stage.Plan().World)
	if err != nil {
		return nil, err
	}
	stage.Guard(server.Process())
	s := newServers(stage, placesBy("")(server.Address()))
	s.Server = server
	if isPooled(stage.Plan().World) {
		err = s.startPooler(ctx)
	}
	return s, err
}

// startPooler starts a pooler before the server.
func (s *servers) startPooler(ctx context.Context) error {
	world := s.Stage.Plan().World
	pooler, err := postgresproc.StartPooler(ctx, s.Stage.Group(), postgresproc.PoolerProgram(), s.Server.Address(), world.Text(settingPooler), world.Number(settingPool))
	if err != nil {
		return err
	}
	s.Stage.Guard(pooler.Process)
	s.pooler = pooler.Addr
	return nil
}

func (places placeAt) join(stage service.Stage, endpoints []string) service.Servers {
	return newServers(stage, places(endpoints[0]))
}

// Make implements sqlservice.Observer.
func (s *servers) Make(ctx context.Context) error {
	var make []string
	if s.database != "" {
		make = append(make, "CREATE DATABASE "+quoted(s.database)+" TEMPLATE template0")
	}
	for _, setting := range []string{"idle_in_transaction_session_timeout", "idle_session_timeout"} {
		make = append(make, fmt.Sprintf("ALTER DATABASE %s SET %s = %d",
			quoted(cmp.Or(s.database, ownDatabase)), setting, s.Stage.Plan().World.Time(sqlservice.SettingIdle).Milliseconds()))
	}
	if err := s.Administer(ctx, make...); err != nil {
		return err
	}
	return s.MakeTables(ctx, token.Dialect, statement("schema"), statement("rows"))
}

// quoted is a name in statements that take no parameters.
func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }

// Endpoints are the one that the client takes its locks at, and the server's where that is
// another one.
func (s *servers) Endpoints(_ context.Context, client setting.Values) ([]string, error) {
	if s.pooler != "" && client.Text(settingThrough) == throughPooler {
		return []string{s.pooler, s.Address}, nil
	}
	return []string{s.Address}, nil
}
