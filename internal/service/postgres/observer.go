package postgres

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

var (
	//go:embed sql/changes.sql
	changesStatement string
	//go:embed sql/flush.sql
	flushStatement string
	//go:embed sql/goes_on.sql
	goesOnStatement string
	//go:embed sql/confirmed.sql
	confirmedStatement string
)

// slot is the run's reader of the log. A server that a run has for itself keeps it when it
// is killed.
func (s *servers) slot() string {
	if s.database == "" {
		return "fencelab"
	}
	return "fencelab_" + strings.ToLower(sqlservice.RunOf(s.database))
}

// watch is what the rounds of the observer need.
type watch struct {
	*sqlservice.Watch
	of        *servers
	conn      *pgx.Conn
	behind    time.Duration // this machine's clock behind the database's
	confirmed string        // up to where the log was read
}

// observe begins the account, or goes on with it after the server was away.
func (s *servers) observe(ctx, starting context.Context) error {
	conn, err := s.place.connect(starting, s.database)
	if err != nil {
		return fmt.Errorf("observer: %w", err)
	}
	w := &watch{of: s, conn: conn}
	if err := w.open(starting, s.watch); err != nil {
		hangUp(conn)
		return fmt.Errorf("observer: %w", errors.Join(err, context.Cause(starting)))
	}
	w.Watch = sqlservice.Follow(ctx, s.stage, s.process(), s.account, w.round, func() { hangUp(conn) })
	s.watch = w
	return nil
}

// open makes the slot, or has it go on where the watch before was.
func (w *watch) open(ctx context.Context, before *watch) error {
	if _, err := w.conn.Exec(ctx, "SET idle_session_timeout = 0"); err != nil { // as the run's clients may have one
		return err
	}
	var now time.Time
	asked := time.Now()
	if err := w.conn.QueryRow(ctx, "SELECT clock_timestamp()", pgx.QueryExecModeSimpleProtocol).Scan(&now); err != nil {
		return err
	}
	w.behind = now.Sub(asked.Add(time.Since(asked) / 2))
	if before != nil {
		w.confirmed = before.confirmed
		_, err := w.conn.Exec(ctx, "SELECT pg_replication_slot_advance($1, $2::text::pg_lsn)", w.of.slot(), w.confirmed)
		return err
	}
	temporary := w.of.database != "" // else it would keep the log of a server that goes on
	if _, err := w.conn.Exec(ctx, "SELECT pg_create_logical_replication_slot($1, 'test_decoding', $2)", w.of.slot(), temporary); err != nil {
		return err
	}
	return w.confirm(ctx)
}

func (w *watch) confirm(ctx context.Context) error {
	return w.conn.QueryRow(ctx, confirmedStatement, w.of.slot()).Scan(&w.confirmed)
}

// round takes in what happened since the last one.
func (w *watch) round(ctx context.Context) error {
	w.of.data.Asking()
	if _, err := w.conn.Exec(ctx, flushStatement); err != nil {
		return err
	}
	rows, err := w.conn.Query(ctx, changesStatement, w.of.slot())
	if err != nil {
		return err
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	if len(lines) > 0 { // what is told from here on is read only once, also if the server ends now
		if err := w.confirm(ctx); err != nil {
			return err
		}
	}
	var failed error
	for _, line := range lines {
		if err := w.take(ctx, line); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%q: %w", line, err))
		}
	}
	if failed != nil {
		return failed
	}
	w.of.account.Expire()
	return w.of.account.Check("", w.goesOn(ctx))
}

// goesOn asks whether a connection still has a lock.
func (w *watch) goesOn(ctx context.Context) func(sqlservice.Holder) (bool, error) {
	return func(h sqlservice.Holder) (on bool, err error) {
		err = w.conn.QueryRow(ctx, goesOnStatement, h.Lock, h.Process, h.Transaction).Scan(&on)
		return on, err
	}
}

// messageBegins is how the log has a message of a recipe that has taken a lock.
const messageBegins = "message: transactional: 0 prefix: fencelab, "

// take takes in a line of the log. Who had a lock before and has it no more is told of
// before the next grant.
func (w *watch) take(ctx context.Context, line string) error {
	if said, is := strings.CutPrefix(line, messageBegins); is {
		_, content, _ := strings.Cut(said, " content:")
		var h sqlservice.Holder
		if err := json.Unmarshal([]byte(content), &h); err != nil {
			return err
		}
		err := w.of.account.Check(h.Lock, w.goesOn(ctx))
		w.of.account.Taken(h, h.At.Add(-w.behind))
		return err
	}
	if kind, content, is := dataMessage(line); is {
		return w.message(kind, content)
	}
	c, is, err := parseChange(line)
	if !is || err != nil {
		return err
	}
	if c.table == resourceTable {
		return w.dataRow(c)
	}
	return w.row(c)
}

// row takes in what a change says of a lock.
func (w *watch) row(c change) error {
	columns, is := lockTables[c.table]
	if !is {
		return nil
	}
	row := sqlservice.Row{Lock: c.columns[columns.lock], Owner: strings.TrimRight(c.columns[columns.owner], " ")}
	if columns.lock == intLockKey {
		row.Lock = sqlservice.LockOf(row.Lock, w.of.stage.Plan().Locks)
	}
	if row.Owner != "" {
		var err error
		if row.Until, err = time.Parse(columns.layout, c.columns[columns.until]); err != nil {
			return err
		}
		row.Until = row.Until.Add(-w.behind)
		if columns.token != "" {
			if _, err := fmt.Sscan(c.columns[columns.token], &row.Token); err != nil {
				return err
			}
		}
	}
	w.of.account.Row(c.table, row)
	return nil
}
