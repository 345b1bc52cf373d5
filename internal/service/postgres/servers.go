package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fencelab/fencelab/internal/proc"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/postgres/postgresproc"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
	"github.com/fencelab/fencelab/internal/setting"
)

var (
	//go:embed sql/rights.sql
	rightsStatement string
	//go:embed sql/schema.sql
	schema string
	//go:embed sql/rows.sql
	rowsStatement string
)

// servers are the one PostgreSQL of a run.
type servers struct {
	stage    service.Stage
	server   *postgresproc.Server // nil: it was there already
	pooler   string               // its address; "": there is none
	place    place
	database string // of the run; "": the server is
	account  *sqlservice.Account
	data     *sqlservice.DataAccount[*pgx.Conn]
	watch    *watch
}

// own are the settings of servers that the lab starts.
var own = []string{"wal_level=logical", "max_replication_slots=64", "max_connections=200"}

// start starts the run's own.
func start(ctx context.Context, stage service.Stage) (service.Servers, error) {
	server, err := postgresproc.Start(ctx, stage.Group(), postgresproc.Program(), own...)
	if err != nil {
		return nil, err
	}
	stage.Guard(server.Process())
	s := &servers{stage: stage, server: server, place: place{ownURL, server.Addr}}
	if isPooled(stage.Plan().World) {
		err = s.startPooler(ctx)
	}
	return s, err
}

// startPooler starts a pooler before the server.
func (s *servers) startPooler(ctx context.Context) error {
	world := s.stage.Plan().World
	pooler, err := postgresproc.StartPooler(ctx, s.stage.Group(), postgresproc.PoolerProgram(), s.server.Addr, world.Text(settingPooler), world.Number(settingPool))
	if err != nil {
		return err
	}
	s.stage.Guard(pooler.Process)
	s.pooler = pooler.Addr
	return nil
}

// launch starts one for several runs.
func launch(ctx context.Context, g *proc.Group, _ setting.Values) (service.Launched, error) {
	server, err := postgresproc.Start(ctx, g, postgresproc.Program(), own...)
	if err != nil {
		return service.Launched{}, err
	}
	return service.Launched{Endpoints: []string{server.Addr}, Processes: []*proc.Process{server.Process()}}, nil
}

func (at placeAt) join(stage service.Stage, endpoints []string) service.Servers {
	return &servers{stage: stage, place: at(endpoints[0]), database: sqlservice.DatabaseOf(stage.Plan().Prefix)}
}

// observeDeadline is for how long a PostgreSQL is asked for the beginning of the account.
// The slot waits for the transactions that are open.
const observeDeadline = 30 * time.Second

// Observe implements service.Servers, as those below do. It makes the run's database and
// its tables, too.
func (s *servers) Observe(ctx context.Context) error {
	starting, cancel := context.WithTimeoutCause(ctx, observeDeadline, fmt.Errorf("PostgreSQL does not answer after %v", observeDeadline))
	defer cancel()
	if err := s.make(starting); err != nil {
		return fmt.Errorf("make the run's database: %w", err)
	}
	s.account, s.data = sqlservice.NewAccount(Name, s.stage), sqlservice.NewDataAccount(Name, s.stage, recipes)
	return s.observe(ctx, starting)
}

// make makes the database of the run, and the tables in it.
func (s *servers) make(ctx context.Context) error {
	if err := s.administer(ctx, "", func(conn *pgx.Conn) error { return s.makeDatabase(ctx, conn) }); err != nil {
		return err
	}
	pool, err := s.place.pool(s.database)
	if err != nil {
		return err
	}
	if err := sqlservice.CreateTokenTable(ctx, pool, token.Dialect); err != nil {
		return err
	}
	return s.administer(ctx, s.database, func(conn *pgx.Conn) error {
		if _, err := conn.PgConn().Exec(ctx, schema).ReadAll(); err != nil {
			return err
		}
		for _, lock := range s.stage.Plan().Locks {
			if _, err := conn.Exec(ctx, rowsStatement, lock); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *servers) makeDatabase(ctx context.Context, conn *pgx.Conn) error {
	if s.database != "" {
		if _, err := conn.Exec(ctx, "CREATE DATABASE "+quoted(s.database)+" TEMPLATE template0"); err != nil {
			return err
		}
	}
	idle := s.stage.Plan().World.Time(settingIdle).Milliseconds()
	name := s.database
	if name == "" {
		name = conn.Config().Database
	}
	for _, setting := range []string{"idle_in_transaction_session_timeout", "idle_session_timeout"} {
		if _, err := conn.Exec(ctx, fmt.Sprintf("ALTER DATABASE %s SET %s = %d", quoted(name), setting, idle)); err != nil {
			return err
		}
	}
	return nil
}

// quoted is a name in statements that take no parameters.
func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }

// administer does something by a connection of its own.
func (s *servers) administer(ctx context.Context, database string, do func(*pgx.Conn) error) error {
	conn, err := s.place.connect(ctx, database)
	if err != nil {
		return err
	}
	defer hangUp(conn)
	return do(conn)
}

// Endpoints are the one that the client takes its locks at, and the server's where that is
// another one.
func (s *servers) Endpoints(_ context.Context, client setting.Values) ([]string, error) {
	if s.pooler != "" && client.Text(settingThrough) == throughPooler {
		return []string{s.pooler, s.place.addr}, nil
	}
	return []string{s.place.addr}, nil
}

// Leave drops the run's database. What still uses it is gone soon.
func (s *servers) Leave(ctx context.Context) {
	if s.watch != nil {
		s.watch.End()
	}
	for ctx.Err() == nil {
		err := s.administer(ctx, "", func(conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+quoted(s.database)+" WITH (FORCE)")
			return err
		})
		if err == nil {
			return
		}
		time.Sleep(sqlservice.PollEvery)
	}
}
