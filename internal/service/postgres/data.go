package postgres

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
	"github.com/fencelab/fencelab/pkg/lock"
)

var (
	//go:embed sql/resource_read.sql
	resourceRead string
	//go:embed sql/resource_write.sql
	resourceWrite string
	//go:embed sql/resource_refused.sql
	resourceRefused string
	//go:embed sql/resource_final.sql
	resourceFinal string
)

// client is one for whom the data lies in the database, too.
type client struct {
	*sqlservice.Client[*pgx.Conn]
}

// Under implements service.Store.
func (c client) Under(t service.Tenure) service.Data {
	d := data{of: c}
	if t != nil {
		d.under = c.Reading(t.Name())
	}
	return d
}

// data is that in the rows of locks, as a client reaches it under a tenure.
type data struct {
	of    client
	under *sqlservice.ReadTenure[*pgx.Conn] // nil: nothing is compared
}

// Do implements service.Data.
func (d data) Do(ctx context.Context, ask *history.Event) error {
	conn, err := d.of.Database.Connect(ctx, ask.Scope)
	if err != nil {
		return err
	}
	defer d.of.Database.HangUp(conn)
	var refused error
	if ask.Op == history.OpRead {
		err = d.read(ctx, conn, ask)
	} else {
		refused, err = d.write(ctx, conn, ask)
	}
	switch {
	case d.of.Database.Refused(err):
		return fmt.Errorf("%s of %q: %w", ask.Op, ask.Scope, err)
	case errors.Is(err, pgx.ErrNoRows):
		return fmt.Errorf("%s: there is no row of the lock %q", ask.Op, ask.Scope)
	case err != nil:
		return &lock.UnknownError{Op: ask.Op, Scope: ask.Scope, Err: err}
	}
	return refused
}

func (d data) read(ctx context.Context, conn *pgx.Conn, ask *history.Event) error {
	var value *string
	err := conn.QueryRow(ctx, resourceRead, ask.Scope, ask.Key, toldOf(ask)).Scan(&value, nil)
	ask.Missing = value == nil
	if value != nil {
		ask.Value = *value
	}
	return err
}

// write is one UPDATE. refused is why it has changed no row.
func (d data) write(ctx context.Context, conn *pgx.Conn, ask *history.Event) (refused, err error) {
	set, deleted := make(map[string]string), []string{}
	for _, e := range eachKey(ask) {
		if e.Op == history.OpDelete {
			deleted = append(deleted, e.Key)
		} else {
			set[e.Key] = e.Value
		}
	}
	compare, read, tenure := "", sqlservice.Seen{}, ""
	if d.under != nil {
		read, tenure = d.under.Seen(), d.under.Name()
		if d.of.Settings.Flag(settingCompare) {
			compare = d.of.Recipe.ID
		}
	}
	told := toldOf(ask)
	var now sqlservice.Seen
	err = conn.QueryRow(ctx, resourceWrite, ask.Scope, set, deleted, told, compare, read.Version, read.Status, tenure).Scan(&now.Version, &now.Status)
	switch {
	case err == nil && d.under != nil:
		d.under.Changed(now)
	case compare != "" && errors.Is(err, pgx.ErrNoRows):
		err = conn.QueryRow(ctx, resourceRefused, ask.Scope, told).Scan(&now.Version, &now.Status, nil)
		return d.under.Stale(now), err
	}
	return nil, err
}

// eachKey is what the account is to tell of a request: an event for each key.
func eachKey(ask *history.Event) (list []history.Event) {
	e := history.Event{
		Lane: history.LaneStorage, Op: ask.Op, Request: ask.Request, Key: ask.Key, Value: ask.Value,
		Scope: ask.Scope, Token: ask.Token, Sequence: ask.Sequence, Mode: ask.Mode,
	}
	if ask.Op != history.OpChange {
		return []history.Event{e}
	}
	for _, c := range ask.Changes {
		e.Op, e.Key, e.Value = history.OpWrite, c.Key, c.Value
		list = append(list, e)
	}
	return list
}

// toldOf is that as JSON.
func toldOf(ask *history.Event) json.RawMessage {
	text, err := json.Marshal(eachKey(ask))
	if err != nil {
		panic(err) // an event always can be
	}
	return text
}

// Final implements service.Keeper.
func (s *servers) Final(ctx context.Context, key string) (value string, has bool, err error) {
	err = s.administer(ctx, s.database, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, resourceFinal, key).Scan(&value)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return "", false, nil
	}
	return value, err == nil, err
}
