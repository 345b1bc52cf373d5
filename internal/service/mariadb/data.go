package mariadb

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
	"github.com/fencelab/fencelab/internal/setting"
)

var (
	//go:embed sql/resource_look.sql
	resourceLook string
	//go:embed sql/resource_raise.sql
	resourceRaise string
	//go:embed sql/item_find.sql
	itemFind string
	//go:embed sql/item_put.sql
	itemPut string
	//go:embed sql/data_tell.sql
	dataTell string
	//go:embed sql/data_told.sql
	dataTold string
)

// Those that keep nobody out.
var (
	version = sqlservice.Version(look)
	status  = sqlservice.Status(look)
)

// settingOnTimeout is of a client whose change has waited too long for a row.
const (
	settingOnTimeout  = "on-timeout"
	onTimeoutRollback = "rollback"
	onTimeoutCommit   = "commit"
)

var onTimeout = setting.Setting{Name: settingOnTimeout, Default: onTimeoutRollback, Of: []string{onTimeoutRollback, onTimeoutCommit},
	About: "What it does with the transaction of a change that has waited for a row for longer than lock-timeout (error 1205). rollback: it rolls the transaction back. commit: it takes the error for the end of the transaction, and its COMMIT keeps what came before."}

// transaction makes requests one transaction. One that fails is left open, and ends with the
// connection.
func transaction(ctx context.Context, l *link, requests func() error) error {
	if err := exec(ctx, l, "START TRANSACTION"); err != nil {
		return err
	}
	if err := requests(); err != nil {
		return err
	}
	return exec(ctx, l, "COMMIT")
}

// see reads the row of a lock's data. Nobody changes the row before the transaction is over,
// so that the account has both in the order in which they happened.
func see(ctx context.Context, l *link, lock string) (seen sqlservice.Seen, err error) {
	err = l.QueryRowContext(ctx, resourceLook, lock).Scan(&seen.Version, &seen.Status)
	return seen, err
}

// tell tells the account.
func tell(ctx context.Context, l *link, kind string, told sqlservice.DataTold) error {
	return exec(ctx, l, dataTell, kind, string(sqlservice.InJSON(told)))
}

// look reads the row by a recipe, and tells the account of it.
func look(by, kind string) sqlservice.Looking[*link] {
	return func(ctx context.Context, l *link, a *attempt) (seen sqlservice.Seen, err error) {
		err = transaction(ctx, l, func() error {
			if seen, err = see(ctx, l, a.Lock); err != nil {
				return err
			}
			return tell(ctx, l, kind, sqlservice.DataTold{Lock: a.Lock, Owner: a.Owner, By: by, Seen: seen})
		})
		return seen, err
	}
}

// Find implements sqlservice.Keeping, as the one below does.
func (place) Find(ctx context.Context, l *link, lock, key string, told []history.Event) (value *string, err error) {
	err = transaction(ctx, l, func() error {
		if _, err := see(ctx, l, lock); err != nil {
			return err
		}
		if err := l.QueryRowContext(ctx, itemFind, key).Scan(&value); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		return tell(ctx, l, sqlservice.ToldDone, sqlservice.DataTold{Events: told, Value: value})
	})
	return value, err
}

// Change is one transaction: an UPDATE of the row of the lock, and then a statement for each
// key. A statement that has waited too long for a row is undone alone, and what came before
// it in the transaction stays: then the client chooses.
func (place) Change(ctx context.Context, l *link, c *sqlservice.Change) (now sqlservice.Seen, made bool, err error) {
	err = transaction(ctx, l, func() error {
		if made, err = raise(ctx, l, c); err != nil {
			return err
		}
		if now, err = see(ctx, l, c.Lock); err != nil {
			return err
		}
		if !made {
			return tell(ctx, l, sqlservice.ToldRefused, sqlservice.DataTold{Seen: now, Events: c.Told})
		}
		for _, e := range c.Told {
			if err := put(ctx, l, e); err != nil {
				return err
			}
		}
		return nil
	})
	if isNumber(err, lockWaitTimeout) {
		then := "ROLLBACK"
		if c.Settings.Text(settingOnTimeout) == onTimeoutCommit {
			then = "COMMIT"
		}
		err = errors.Join(err, exec(ctx, l, then))
	}
	return now, made, err
}

// statusKey is the key that the recipe status compares.
const statusKey = "status"

// raise makes the version of the row one higher, unless the row is not as the change wants it.
func raise(ctx context.Context, l *link, c *sqlservice.Change) (made bool, err error) {
	var changes bool
	var status *string
	for _, e := range c.Told {
		if e.Key == statusKey {
			changes, status = true, valueOf(e)
		}
	}
	return sqlservice.Changed(ctx, l, resourceRaise, c.Lock, c.Compare, c.Read.Version, c.Read.Status, changes, status, c.Tenure)
}

// put makes a key what a request wants.
func put(ctx context.Context, l *link, e history.Event) error {
	return exec(ctx, l, itemPut, e.Key, valueOf(e), string(sqlservice.InJSON(e)))
}

// valueOf is what a key has after a write or a delete; nil: nothing.
func valueOf(e history.Event) *string {
	if e.Op == history.OpDelete {
		return nil
	}
	return &e.Value
}

// Final implements service.Keeper.
func (s *servers) Final(ctx context.Context, key string) (value string, has bool, err error) {
	conn, err := s.place.connect(ctx, s.database)
	if err != nil {
		return "", false, err
	}
	defer hangUp(conn)
	var found *string
	err = conn.QueryRowContext(ctx, itemFind, key).Scan(&found)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && found == nil:
		return "", false, nil
	case err != nil:
		return "", false, err
	}
	return *found, true, nil
}

// dataLog is what triggers and clients have told of the data.
type dataLog struct {
	account *sqlservice.DataAccount[*link]
	seen    map[int64]bool // as in sqlservice.Log
}

// told is one line of it.
type told struct {
	number int64
	kind   string
	sqlservice.DataTold
}

// read is what was committed and not taken in yet, in the order of the changes of each row.
func (d *dataLog) read(ctx context.Context, conn *link, behind time.Duration) (list []told, err error) {
	rows, err := conn.QueryContext(ctx, dataTold)
	if err != nil {
		return nil, fmt.Errorf("read what was told of the data: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var at int64
		var content []byte
		var t told
		if err := rows.Scan(&t.number, &t.kind, &at, &content); err != nil {
			return nil, fmt.Errorf("read what was told of the data: %w", err)
		}
		if d.seen[t.number] {
			continue
		}
		if err := json.Unmarshal(content, &t.DataTold); err != nil {
			return nil, fmt.Errorf("what was told of the data is %q: %w", content, err)
		}
		t.At = time.UnixMicro(at).Add(-behind)
		list = append(list, t)
	}
	return list, rows.Err()
}

// take has the account take in lines.
func (d *dataLog) take(list []told) {
	for _, t := range list {
		d.seen[t.number] = true
		d.account.Take(t.kind, t.DataTold)
	}
}
