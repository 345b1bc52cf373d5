package mariadb

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/internal/proc"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/mariadb/mariadbproc"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
	"github.com/fencelab/fencelab/internal/setting"
)

//go:embed sql/schema.sql
var schema string

// servers are the one MariaDB of a run.
type servers struct {
	stage    service.Stage
	server   *mariadbproc.Server // nil: it was there already
	place    place
	database string // of the run
	account  *sqlservice.Account
	log      *sqlservice.Log
	data     *sqlservice.DataLog[*link]
	holds    map[string]*link // key → who has its row locked
	watch    *watch
}

// start starts the run's own.
func start(ctx context.Context, stage service.Stage) (service.Servers, error) {
	server, err := mariadbproc.Start(ctx, stage.Group(), mariadbproc.Program(), arguments(stage.Plan().World)...)
	if err != nil {
		return nil, err
	}
	stage.Guard(server.Process())
	return &servers{stage: stage, server: server, place: place{ownURL, server.Addr}, database: ownDatabase}, nil
}

// launch starts one for several runs.
func launch(ctx context.Context, g *proc.Group, world setting.Values) (service.Launched, error) {
	server, err := mariadbproc.Start(ctx, g, mariadbproc.Program(), arguments(world)...)
	if err != nil {
		return service.Launched{}, err
	}
	return service.Launched{Endpoints: []string{server.Addr}, Processes: []*proc.Process{server.Process()}}, nil
}

func (at placeAt) join(stage service.Stage, endpoints []string) service.Servers {
	return &servers{stage: stage, place: at(endpoints[0]), database: databaseOf(stage.Plan().Prefix)}
}

// observeDeadline is for how long a MariaDB is asked for the beginning of the account.
const observeDeadline = 30 * time.Second

// Observe implements service.Servers, as those below do. It makes the run's database and
// its tables, too.
func (s *servers) Observe(ctx context.Context) error {
	starting, cancel := context.WithTimeoutCause(ctx, observeDeadline, fmt.Errorf("MariaDB does not answer after %v", observeDeadline))
	defer cancel()
	if err := s.make(starting); err != nil {
		return fmt.Errorf("make the run's database: %w", err)
	}
	s.account = sqlservice.NewAccount(Name, s.stage)
	s.log = &sqlservice.Log{Locks: s.stage.Plan().Locks}
	s.data = &sqlservice.DataLog[*link]{DataAccount: sqlservice.NewDataAccount(Name, s.stage, recipes)}
	s.holds = make(map[string]*link)
	return s.observe(ctx, starting)
}

// make makes the database of the run, the tables in it, and the rows that are there before
// anybody takes a lock.
func (s *servers) make(ctx context.Context) error {
	conn, err := s.place.connect(ctx, "")
	if err != nil {
		return err
	}
	defer hangUp(conn)
	if err := s.place.makeDatabase(ctx, conn, s.database); err != nil {
		return err
	}
	for _, lock := range s.stage.Plan().Locks {
		for _, table := range []string{"row_lock", "resource"} {
			if err := exec(ctx, conn, "INSERT INTO "+table+" (name) VALUES (?)", lock); err != nil {
				return err
			}
		}
	}
	return nil
}

// makeDatabase makes a database with the tables, triggers and procedures of all recipes.
func (p place) makeDatabase(ctx context.Context, conn *link, database string) error {
	name := quoted(database)
	if err := exec(ctx, conn, "CREATE DATABASE "+name+" CHARACTER SET utf8mb4"); err != nil {
		return err
	}
	pool, err := p.pool(database)
	if err != nil {
		return err
	}
	if err := sqlservice.CreateTokenTable(ctx, pool, token.Dialect); err != nil {
		return err
	}
	return exec(ctx, conn, "USE "+name+"; "+schema)
}

// try does what a run does that needs rights: it makes a database, and reads who waits for a
// lock. It leaves nothing behind.
func (p place) try(ctx context.Context, conn *link) error {
	database := "gcsim-" + rand.Text()
	made := p.makeDatabase(ctx, conn, database)
	_, err := statusOf(ctx, conn)
	return errors.Join(made, err, exec(ctx, conn, "DROP DATABASE IF EXISTS "+quoted(database)))
}

// process is the server's; nil where it was there already.
func (s *servers) process() *proc.Process {
	if s.server == nil {
		return nil
	}
	return s.server.Process()
}

// Server implements sqlservice.Node, as those below do.
func (s *servers) Server() sqlservice.Server { return s.server }

func (s *servers) Watched() <-chan struct{} { return s.watch.Ended() }

func (s *servers) Again(ctx, starting context.Context) error { return s.observe(ctx, starting) }

func (s *servers) Endpoints(context.Context, setting.Values) ([]string, error) {
	return []string{s.place.addr}, nil
}

// Leave drops the run's database, once the transactions of the run's clients have ended.
func (s *servers) Leave(ctx context.Context) {
	if s.watch != nil {
		s.watch.End()
	}
	for _, l := range s.holds {
		hangUp(l)
	}
	conn, err := s.place.connect(ctx, "")
	if err != nil {
		return
	}
	defer hangUp(conn)
	_ = exec(ctx, conn, "DROP DATABASE IF EXISTS "+quoted(s.database))
}
