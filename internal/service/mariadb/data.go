package mariadb

import (
	"context"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

// see reads the row of a lock's data. Nobody changes the row before the transaction is over,
// so that the account has both in the order in which they happened.
func see(ctx context.Context, conn sqlservice.Conn, lock string) (seen sqlservice.Seen, err error) {
	err = conn.Row(ctx, "SELECT version, status FROM resource WHERE name = $1 LOCK IN SHARE MODE", lock).Scan(&seen.Version, &seen.Status)
	return seen, err
}

// tell tells the account.
func tell(ctx context.Context, conn sqlservice.Conn, kind string, told sqlservice.Told) error {
	_, err := conn.Run(ctx, "INSERT INTO told (kind, content) VALUES ($1, $2)", kind, sqlservice.InJSON(told))
	return err
}

// look reads the row, and tells the account of it, in one transaction. One that fails is left
// open, and ends with the connection.
func look(ctx context.Context, conn sqlservice.Conn, a *sqlservice.Attempt, by, kind string) (seen sqlservice.Seen, err error) {
	if err = conn.Begin(ctx); err != nil {
		return seen, err
	}
	if seen, err = see(ctx, conn, a.Lock); err != nil {
		return seen, err
	}
	if err = tell(ctx, conn, kind, sqlservice.Told{Lock: a.Lock, Owner: a.Owner, By: by, Seen: seen}); err == nil {
		_, err = conn.Run(ctx, "COMMIT")
	}
	return seen, err
}

// Find implements sqlservice.Conn. It finds what was committed last, whenever the transaction
// began.
func (l *link) Find(ctx context.Context, lock, key string, told []history.Event) (value *string, err error) {
	if _, err := see(ctx, l, lock); err != nil {
		return nil, err
	}
	value, err = sqlservice.ValueOf(l.Row(ctx, "SELECT value FROM item WHERE name = $1 LOCK IN SHARE MODE", key))
	if err != nil {
		return nil, err
	}
	return value, tell(ctx, l, sqlservice.ToldDone, sqlservice.Told{Events: told, Value: value})
}

// Change is an UPDATE of the row of the lock, and then a statement for each key.
func (l *link) Change(ctx context.Context, c *sqlservice.Change) (now sqlservice.Seen, made bool, err error) {
	if made, err = l.raise(ctx, c); err != nil {
		return now, false, err
	}
	if now, err = see(ctx, l, c.Lock); err != nil {
		return now, false, err
	}
	if !made {
		return now, false, tell(ctx, l, sqlservice.ToldRefused, sqlservice.Told{Seen: now, Events: c.Told})
	}
	for _, e := range c.Told {
		if _, err := l.Run(ctx, statement("item_put"), e.Key, sqlservice.After(e), sqlservice.InJSON(e)); err != nil {
			return now, false, err
		}
	}
	return now, true, nil
}

// statusKey is the key that the recipe status compares.
const statusKey = "status"

// raise makes the version of the row one higher, unless the row is not as the change wants it.
func (l *link) raise(ctx context.Context, c *sqlservice.Change) (made bool, err error) {
	var changes bool
	var status *string
	for _, e := range c.Told {
		if e.Key == statusKey {
			changes, status = true, sqlservice.After(e)
		}
	}
	return l.Run(ctx, statement("resource_raise"), c.Lock, c.Compare, c.Read.Version, c.Read.Status, changes, status, c.Tenure)
}
