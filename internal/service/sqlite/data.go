package sqlite

import (
	"context"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

// found is the statement that finds what a key has.
const found = "SELECT value FROM item WHERE name = $1"

// Find implements sqlservice.Conn. It has the file's lock as a change has: so the account has
// both in the order in which they happened.
func (l *link) Find(ctx context.Context, _, key string, told []history.Event) (value *string, err error) {
	if err := l.beginImmediate(ctx); err != nil {
		return nil, err
	}
	if value, err = sqlservice.ValueOf(l.Row(ctx, found, key)); err != nil {
		return nil, err
	}
	_, err = l.Run(ctx, "INSERT INTO told (kind, content, at) VALUES ($1, $2, $3)",
		sqlservice.ToldDone, sqlservice.InJSON(sqlservice.Told{Events: told, Value: value}), time.Now().UnixMicro())
	return value, err
}

// Change is a statement for each key. No recipe compares anything.
func (l *link) Change(ctx context.Context, c *sqlservice.Change) (now sqlservice.Seen, made bool, err error) {
	err = l.beginImmediate(ctx)
	for i := 0; i < len(c.Told) && err == nil; i++ {
		e := c.Told[i]
		_, err = l.Run(ctx, statement("item_put"), e.Key, sqlservice.After(e), sqlservice.InJSON(e), time.Now().UnixMicro())
	}
	return now, err == nil, err
}
