package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

// look reads the row, and has a message tell of it.
func look(ctx context.Context, conn sqlservice.Conn, a *sqlservice.Attempt, by, kind string) (seen sqlservice.Seen, err error) {
	err = conn.Row(ctx, statement("resource_look"), a.Lock, messagePrefix+kind, a.Owner, by).Scan(&seen.Version, &seen.Status, nil)
	return seen, err
}

// Find implements sqlservice.Conn.
func (l *link) Find(ctx context.Context, lock, key string, told []history.Event) (value *string, err error) {
	err = l.QueryRow(ctx, statement("resource_read"), lock, key, sqlservice.InJSON(told)).Scan(&value, nil)
	return value, err
}

// Change is one UPDATE.
func (l *link) Change(ctx context.Context, c *sqlservice.Change) (now sqlservice.Seen, made bool, err error) {
	set, deleted := make(map[string]string), []string{}
	for _, e := range c.Told {
		if value := sqlservice.After(e); value != nil {
			set[e.Key] = *value
		} else {
			deleted = append(deleted, e.Key)
		}
	}
	told := sqlservice.InJSON(c.Told)
	err = l.QueryRow(ctx, statement("resource_write"), c.Lock, set, deleted, told, c.Compare, c.Read.Version, c.Read.Status, c.Tenure).
		Scan(&now.Version, &now.Status, nil)
	if c.Compare == "" || !errors.Is(err, pgx.ErrNoRows) {
		return now, err == nil, err
	}
	err = l.QueryRow(ctx, statement("resource_refused"), c.Lock, told).Scan(&now.Version, &now.Status, nil)
	return now, false, err
}
