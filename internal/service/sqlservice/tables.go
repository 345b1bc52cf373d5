package sqlservice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Tables are those by which a database tells what happens. Triggers and clients write into the
// table told, in the transaction in which it happens; into the table held who has taken a lock
// by a connection, at once.
type Tables struct {
	Told, Held *Link // the connections by which each is read

	seen map[int64]bool // numbers in told
	last int64          // that of the last holder
}

type line struct {
	number int64
	kind   string
	Told
}

// Round has the account of an Observer that reads tables take in what is new: the locks that
// connections have taken, then what rows say, and then what happened to the data. What is read together is there together: the
// grant is there under which something happened to the data.
func (s *Servers) Round(ctx context.Context) error {
	s.Account.Asking()
	lines, err := s.read(ctx)
	if err != nil {
		return fmt.Errorf("read what was told: %w", err)
	}
	holders, err := s.holders(ctx)
	if err != nil {
		return fmt.Errorf("read who has a lock: %w", err)
	}
	for _, h := range holders {
		err = errors.Join(err, s.Account.Take(ctx, ToldTaken, h))
	}
	s.take(ctx, lines, func(kind string) bool { return kind == ToldRow })
	if err := errors.Join(err, s.Account.Settle(ctx)); err != nil {
		return err
	}
	s.take(ctx, lines, func(kind string) bool { return kind != ToldRow })
	return nil
}

// take has the account take in lines of some kinds, which it never fails to do.
func (s *Servers) take(ctx context.Context, lines []line, want func(kind string) bool) {
	for _, l := range lines {
		if want(l.kind) {
			_ = s.Account.Take(ctx, l.kind, l.Told)
			s.seen[l.number] = true
		}
	}
}

// Shut closes the connections by which an Observer reads tables.
func (s *Servers) Shut() {
	for _, l := range []*Link{s.Told, s.Held} {
		if l != nil {
			l.HangUp()
		}
	}
}

// read is what was committed and not taken in yet. Numbers are given before the commit, so a
// later one may be seen earlier; those of one row may not, as the row is locked in between.
func (t *Tables) read(ctx context.Context) (list []line, err error) {
	if t.seen == nil {
		t.seen = make(map[int64]bool)
	}
	rows, err := t.Told.QueryContext(ctx, "SELECT number, kind, at, content FROM told ORDER BY number")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var at int64 // µs since 1970
		var content []byte
		var l line
		if err := rows.Scan(&l.number, &l.kind, &at, &content); err != nil {
			return nil, err
		}
		if t.seen[l.number] {
			continue
		}
		if err := json.Unmarshal(content, &l.Told); err != nil {
			return nil, fmt.Errorf("%q: %w", content, err)
		}
		l.At = time.UnixMicro(at)
		list = append(list, l)
	}
	return list, rows.Err()
}

func (t *Tables) holders(ctx context.Context) (list []Told, err error) {
	rows, err := t.Held.QueryContext(ctx, "SELECT number, name, owner, at, process, `session` FROM held WHERE number > ? ORDER BY number", t.last)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var h Told
		var at int64
		var session bool
		if err := rows.Scan(&t.last, &h.Lock, &h.Owner, &at, &h.Process, &session); err != nil {
			return nil, err
		}
		h.At = time.UnixMicro(at)
		if !session {
			h.Transaction = h.Owner
		}
		list = append(list, h)
	}
	return list, rows.Err()
}
