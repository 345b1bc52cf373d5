package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
	"github.com/fencelab/fencelab/internal/setting"
)

var (
	//go:embed sql/item_find.sql
	itemFind string
	//go:embed sql/item_put.sql
	itemPut string
	//go:embed sql/data_tell.sql
	dataTell string
)

// Find implements sqlservice.Keeping, as those below do. It has the file's lock as a change has:
// so the account has both in the order in which they happened.
func (file) Find(ctx context.Context, l *link, _, key string, told []history.Event) (value *string, err error) {
	if err := l.beginImmediate(ctx); err != nil {
		return nil, err
	}
	if value, err = find(ctx, l, key); err != nil {
		return nil, err
	}
	_, err = l.ExecContext(ctx, dataTell, sqlservice.ToldDone, string(sqlservice.InJSON(sqlservice.DataTold{Events: told, Value: value})), time.Now().UnixMicro())
	return value, err
}

// find is what a key has; nil: nothing.
func find(ctx context.Context, l *link, key string) (value *string, err error) {
	err = l.QueryRowContext(ctx, itemFind, key).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return value, err
}

// Change is a statement for each key. No recipe compares anything.
func (file) Change(ctx context.Context, l *link, c *sqlservice.Change) (now sqlservice.Seen, made bool, err error) {
	err = l.beginImmediate(ctx)
	for i := 0; i < len(c.Told) && err == nil; i++ {
		var value *string
		if e := c.Told[i]; e.Op != history.OpDelete {
			value = &e.Value
		}
		_, err = l.ExecContext(ctx, itemPut, c.Told[i].Key, value, string(sqlservice.InJSON(c.Told[i])), time.Now().UnixMicro())
	}
	return now, err == nil, err
}

func (file) Keeps(error, setting.Values) bool { return false }

// Final implements service.Keeper.
func (s *servers) Final(ctx context.Context, key string) (value string, has bool, err error) {
	l, err := s.file.Connect(ctx, "")
	if err != nil {
		return "", false, err
	}
	defer s.file.HangUp(l)
	found, err := find(ctx, l, key)
	if found == nil {
		return "", false, err
	}
	return *found, true, err
}
