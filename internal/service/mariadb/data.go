package mariadb

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"

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
	//go:embed sql/item_read.sql
	itemRead string
	//go:embed sql/item_put.sql
	itemPut string
	//go:embed sql/data_tell.sql
	dataTell string
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
	About: "What it does with the transaction of a change that has waited for a row for longer than lock-timeout (error 1205). rollback: it rolls the transaction back. commit: it takes the error for the end of the transaction, and its COMMIT keeps what came before. Where a change is part of the transaction that has the lock, there is nothing to choose: the error ends that transaction."}

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

// Find implements sqlservice.Keeping, as those below do.
func (place) Find(ctx context.Context, l *link, lock, key string, told []history.Event) (value *string, err error) {
	if _, err := see(ctx, l, lock); err != nil {
		return nil, err
	}
	if err := l.QueryRowContext(ctx, itemRead, key).Scan(&value); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	return value, tell(ctx, l, sqlservice.ToldDone, sqlservice.DataTold{Events: told, Value: value})
}

// Change is an UPDATE of the row of the lock, and then a statement for each key.
func (place) Change(ctx context.Context, l *link, c *sqlservice.Change) (now sqlservice.Seen, made bool, err error) {
	if made, err = raise(ctx, l, c); err != nil {
		return now, false, err
	}
	if now, err = see(ctx, l, c.Lock); err != nil {
		return now, false, err
	}
	if !made {
		return now, false, tell(ctx, l, sqlservice.ToldRefused, sqlservice.DataTold{Seen: now, Events: c.Told})
	}
	for _, e := range c.Told {
		if err := put(ctx, l, e); err != nil {
			return now, false, err
		}
	}
	return now, true, nil
}

// Keeps is so after a statement that has waited too long for a row. MariaDB undoes it alone, and
// what came before it in the transaction stays: then the client chooses.
func (place) Keeps(err error, of setting.Values) bool {
	return isNumber(err, lockWaitTimeout) && of.Text(settingOnTimeout) == onTimeoutCommit
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
