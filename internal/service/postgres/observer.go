package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

// slot is the run's reader of the log. A server that a run has for itself keeps it when it
// is killed.
func (s *servers) slot() string {
	if s.database == "" {
		return "fencelab"
	}
	return "fencelab_" + strings.ToLower(strings.ReplaceAll(s.database, "-", "_"))
}

// Open implements sqlservice.Observer. It makes the slot, or has it go on where it was.
func (s *servers) Open(ctx context.Context) error {
	conn, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	s.conn = conn.(*link)
	if _, err := conn.Run(ctx, "SET idle_session_timeout = 0"); err != nil { // as the run's clients may have one
		return err
	}
	var now time.Time
	asked := time.Now()
	if err := conn.Row(ctx, "SELECT clock_timestamp()", pgx.QueryExecModeSimpleProtocol).Scan(&now); err != nil {
		return err
	}
	s.Account.Behind = now.Sub(asked.Add(time.Since(asked) / 2))
	if s.confirmed != "" {
		_, err := conn.Run(ctx, "SELECT pg_replication_slot_advance($1, $2::text::pg_lsn)", s.slot(), s.confirmed)
		return err
	}
	temporary := s.database != "" // else it would keep the log of a server that goes on
	if _, err := conn.Run(ctx, "SELECT pg_create_logical_replication_slot($1, 'test_decoding', $2)", s.slot(), temporary); err != nil {
		return err
	}
	return s.confirm(ctx)
}

// Shut implements sqlservice.Observer.
func (s *servers) Shut() {
	if s.conn != nil {
		s.conn.HangUp()
	}
}

func (s *servers) confirm(ctx context.Context) error {
	return s.conn.QueryRow(ctx, "SELECT confirmed_flush_lsn::text FROM pg_replication_slots WHERE slot_name = $1", s.slot()).Scan(&s.confirmed)
}

// Round implements sqlservice.Observer.
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
