package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/postgres/postgresproc"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

// slot is the run's reader of the log. A server that a run has for itself keeps it when it is killed, and a standby
// knows nothing of it.
func (s *servers) slot() string {
	if s.database == "" {
		return "fencelab"
	}
	return "fencelab_" + strings.ToLower(strings.ReplaceAll(s.database, "-", "_"))
}

// firstSlot is the slot of a server that runs share, made before the first of them. A new slot waits for the end of
// every transaction that is open, and a run may have stopped a client in one. A copy of a slot waits for nothing.
const firstSlot = "fencelab_first"

func launched(ctx context.Context, conn sqlservice.Conn) error {
	_, err := conn.Run(ctx, "SELECT pg_create_logical_replication_slot($1, 'test_decoding')", firstSlot)
	return err
}

// Open implements sqlservice.Observer. It makes the slot, or has it go on where it was.
func (s *servers) Open(ctx context.Context) error {
	conn, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	s.conn = conn.(*link)
	// The run's clients may have a time-out, and wait for a standby.
	if _, err := conn.Run(ctx, "SELECT set_config('idle_session_timeout', '0', false), set_config('synchronous_commit', 'local', false)"); err != nil {
		return err
	}
	var now time.Time
	asked := time.Now()
	if err := conn.Row(ctx, "SELECT clock_timestamp()", pgx.QueryExecModeSimpleProtocol).Scan(&now); err != nil {
		return err
	}
	s.Account.Behind = now.Sub(asked.Add(time.Since(asked) / 2))
	var goesOn bool
	if err := conn.Row(ctx, "SELECT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = $1)", s.slot()).Scan(&goesOn); err != nil {
		return err
	}
	if goesOn {
		_, err := conn.Run(ctx, "SELECT pg_replication_slot_advance($1, $2::text::pg_lsn)", s.slot(), s.confirmed)
		return err
	}
	temporary := s.database != "" // else it would keep the log of a server that goes on
	if _, err := conn.Run(ctx, statement("slot"), s.slot(), temporary, firstSlot); err != nil {
		return err
	}
	return s.confirm(ctx)
}

func (s *servers) Shut() {
	if s.conn != nil {
		s.conn.HangUp()
	}
}

func (s *servers) confirm(ctx context.Context) error {
	return s.conn.QueryRow(ctx, "SELECT confirmed_flush_lsn::text FROM pg_replication_slots WHERE slot_name = $1", s.slot()).Scan(&s.confirmed)
}

func (s *servers) Round(ctx context.Context) error {
	s.Account.Asking()
	if _, err := s.conn.Exec(ctx, statement("flush")); err != nil {
		return err
	}
	rows, err := s.conn.Query(ctx, statement("changes"), s.slot())
	if err != nil {
		return err
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	if len(lines) > 0 { // what is told from here on is read only once, also if the server ends now
		if err := s.confirm(ctx); err != nil {
			return err
		}
	}
	var failed error
	for _, line := range lines {
		if err := s.take(ctx, line); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%q: %w", line, err))
		}
	}
	if failed != nil {
		return failed
	}
	return s.Account.Settle(ctx)
}

// goesOn asks whether a connection still has a lock.
func (s *servers) goesOn(ctx context.Context, t sqlservice.Told) (on bool, err error) {
	err = s.conn.QueryRow(ctx, statement("goes_on"), t.Lock, t.Process, t.Transaction).Scan(&on)
	return on, err
}

// messagePrefix is how the messages begin that tell the account of something; its kind follows.
const messagePrefix = "fencelab-"

// message is how PostgreSQL's test_decoding has one in the log.
var message = regexp.MustCompile(`(?s)^message: transactional: [01] prefix: ` + messagePrefix + `(\w+), sz: \d+ content:(.*)$`)

// take takes in a line of the log. What is no message is of no interest.
func (s *servers) take(ctx context.Context, line string) error {
	found := message.FindStringSubmatch(line)
	if found == nil {
		return nil
	}
	var t sqlservice.Told
	if err := json.Unmarshal([]byte(found[2]), &t); err != nil {
		return err
	}
	return s.Account.Take(ctx, found[1], t)
}

type servers struct {
	sqlservice.Servers
	pooler    string // its address; "": there is none
	database  string // of the run; "": the server is
	conn      *link  // the observer's
	confirmed string // up to where the log was read
}

func newServers(stage service.Stage, url, addr string) sqlservice.Running {
	s := &servers{database: sqlservice.DatabaseOf(stage.Plan().Prefix)}
	s.Servers = sqlservice.Servers{
		Stage: stage, Database: place{url: url, addr: addr}, Observer: s, Address: addr,
		Account: sqlservice.NewAccount(Name, stage, recipes, s.goesOn),
		Found:   "SELECT data->>$1 FROM resource WHERE data ? $1",
		Leaves: []string{
			"DROP DATABASE IF EXISTS " + quoted(s.database) + " WITH (FORCE)",
			// The next copy of the first slot reads nothing of what is over.
			"SELECT pg_replication_slot_advance(slot_name, pg_current_wal_flush_lsn()) FROM pg_replication_slots WHERE slot_name = '" + firstSlot + "'",
		},
	}
	return s
}

// serverSettings are what each server is started with, as a standby needs what its server has.
var serverSettings = []string{"wal_level=logical", "max_replication_slots=64", "max_connections=200"}

func launch(ctx context.Context, g *proc.Group, world setting.Values) (sqlservice.Server, error) {
	settings := serverSettings
	if sqlservice.IsSynchronous(world) {
		settings = append(slices.Clone(settings), "synchronous_standby_names=*")
	}
	return postgresproc.Start(ctx, g, postgresproc.Program(), settings...)
}

var pair = sqlservice.Pair{
	// A standby that is promoted waits for no standby of its own.
	Follow: func(ctx context.Context, g *proc.Group, _ setting.Values, leader string) (sqlservice.Server, error) {
		return postgresproc.Follow(ctx, g, postgresproc.Program(), leader, serverSettings...)
	},
	Has: func(ctx context.Context, leader, standby sqlservice.Conn) (has bool, err error) {
		var position string
		if err := leader.Row(ctx, "SELECT pg_current_wal_lsn()::text").Scan(&position); err != nil {
			return false, err
		}
		err = standby.Row(ctx, "SELECT pg_last_wal_replay_lsn() >= $1::text::pg_lsn", position).Scan(&has)
		return has, err
	},
	Promote: func(ctx context.Context, standby sqlservice.Conn) error {
		var leads bool
		err := standby.Row(ctx, "SELECT pg_promote()").Scan(&leads)
		if err == nil && !leads {
			err = errors.New("pg_promote gave up waiting")
		}
		return err
	},
}

// startPooler starts a pooler before a run's own server, if the run wants one.
func startPooler(ctx context.Context, of sqlservice.Running) error {
	s := of.(*servers)
	world := s.Stage.Plan().World
	if !isPooled(world) {
		return nil
	}
	pooler, err := postgresproc.StartPooler(ctx, s.Stage.Group(), postgresproc.PoolerProgram(), s.Server.Endpoint(), world.Text(settingPooler), world.Number(settingPool))
	if err != nil {
		return err
	}
	service.Guard(s.Stage, pooler.Process())
	s.pooler = pooler.Addr
	return nil
}

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
