package mariadb

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/mariadb/mariadbproc"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

func (s *servers) Open(ctx context.Context) error {
	conn, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	l := conn.(*link).Link
	first := s.Told == nil
	s.Told, s.Held = l, l
	now, err := now(ctx, conn)
	s.Account.Behind = time.Until(now)
	if err == nil && first {
		err = s.Skip(ctx) // a standby that leads now has what its server told
	}
	return err
}

// goesOn asks whether a connection still has a lock. A transaction that goes on has a row
// that is there, and not committed.
func (s *servers) goesOn(ctx context.Context, t sqlservice.Told) (on bool, err error) {
	if t.Transaction == "" {
		err = s.Told.Row(ctx, "SELECT IS_USED_LOCK($1) <=> $2", t.Lock, t.Process).Scan(&on)
		return on, err
	}
	there, err := s.sees(ctx, sql.LevelReadUncommitted, t.Transaction)
	if !there || err != nil {
		return false, err
	}
	committed, err := s.sees(ctx, sql.LevelReadCommitted, t.Transaction)
	return !committed, err
}

func (s *servers) sees(ctx context.Context, level sql.IsolationLevel, transaction string) (there bool, err error) {
	tx, err := s.Told.BeginTx(ctx, &sql.TxOptions{Isolation: level, ReadOnly: true})
	if err != nil {
		return false, err
	}
	err = tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT * FROM goes_on WHERE owner = ?)", transaction).Scan(&there)
	return there, errors.Join(err, tx.Rollback())
}

type servers struct {
	sqlservice.Servers
	database string                     // of the run
	holds    map[string]sqlservice.Conn // key → who has its row locked
}

func newServers(stage service.Stage, url, addr string) sqlservice.Running {
	s := &servers{database: cmp.Or(sqlservice.DatabaseOf(stage.Plan().Prefix), ownDatabase), holds: make(map[string]sqlservice.Conn)}
	s.Servers = sqlservice.Servers{
		Stage: stage, Database: place{url, addr}, Observer: s, Address: addr,
		Account: sqlservice.NewAccount(Name, stage, recipes, s.goesOn),
		Found:   "SELECT value FROM item WHERE name = $1",
		Leaves:  []string{"DROP DATABASE IF EXISTS " + quoted(s.database)},
	}
	return s
}

func launch(ctx context.Context, g *proc.Group, world setting.Values) (sqlservice.Server, error) {
	settings := arguments(world)
	if sqlservice.HasStandby(world) {
		settings = append(settings, replicated...)
		settings = append(settings, "server-id=1")
	}
	if sqlservice.IsSynchronous(world) {
		const ever = "rpl-semi-sync-master-timeout=4294967295" // in milliseconds
		settings = append(settings, "rpl-semi-sync-master-enabled=ON", "rpl-semi-sync-master-wait-point=AFTER_SYNC", ever)
	}
	return mariadbproc.Start(ctx, g, mariadbproc.Program(), settings...)
}

func (s *servers) Make(ctx context.Context) error {
	if err := s.Administer(ctx, create(s.database)); err != nil {
		return err
	}
	const row = "INSERT INTO %s (name) VALUES ($1)"
	return s.MakeTables(ctx, token.Dialect, statement("schema"), fmt.Sprintf(row, "row_lock"), fmt.Sprintf(row, "unindexed_lock"), fmt.Sprintf(row, "resource"))
}

func create(database string) string {
	return "CREATE DATABASE " + quoted(database) + " CHARACTER SET utf8mb4"
}

// rights does what a run does that needs rights: it makes a database, and reads who waits for a
// lock. It leaves nothing behind.
func rights(ctx context.Context, conn sqlservice.Conn) error {
	database := "gcsim-" + rand.Text()
	_, made := conn.Run(ctx, create(database))
	if made == nil {
		made = sqlservice.MakeTables(ctx, conn.(*link).to, "/"+database, token.Dialect, statement("schema"))
	}
	_, err := statusOf(ctx, conn)
	_, dropped := conn.Run(ctx, "DROP DATABASE IF EXISTS "+quoted(database))
	if err := errors.Join(made, err, dropped); err != nil {
		return fmt.Errorf("its user has no right to what runs do. %s: %w", wantRights, err)
	}
	return nil
}

// wantRights is what the user of a MariaDB needs that is there already.
const wantRights = "It needs GRANT ALL ON `gcsim-%`.*, and GRANT PROCESS ON *.*; where the server writes a binary log it also needs SUPER, or the server log_bin_trust_function_creators = 1"

// Leave drops the run's database, once the transactions of the run's clients have ended.
func (s *servers) Leave(ctx context.Context) {
	for _, conn := range s.holds {
		conn.HangUp()
	}
	s.Servers.Leave(ctx)
}
