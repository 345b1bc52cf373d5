package sqlservice

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/setting"
	"github.com/fencelab/fencelab/pkg/lock"
)

// Keeping is a Database that has the data, too, beside the locks. Where a lock has no row
// for its data the error is sql.ErrNoRows.
type Keeping[C any] interface {
	Holding[C]
	// Find reads a key under a lock. The value is nil where there is none. The account is
	// told of the request, which told is.
	Find(ctx context.Context, conn C, lock, key string, told []history.Event) (value *string, err error)
	// Change makes a change, all of it or nothing. now is the row as the change has made it
	// or, where it compares the row and makes nothing, as the change has found it.
	Change(ctx context.Context, conn C, c *Change) (now Seen, made bool, err error)
}

// Change is one of the data under a lock.
type Change struct {
	Lock     string
	Told     []history.Event // what the account is to tell of it: an event for each key
	Compare  string          // the recipe by which the row is compared; "": it is not
	Read     Seen            // what it is compared with
	Tenure   string          // under which the change is made; "": none
	Settings setting.Values  // the client's
}

// KeepingClient is a Client for whom the data lies in the database, which is a Keeping.
type KeepingClient[C any] struct{ *Client[C] }

// Under implements service.Store.
func (c KeepingClient[C]) Under(t service.Tenure) service.Data {
	d := data[C]{of: c.Client}
	if t != nil {
		d.under = c.Reading(t.Name())
	}
	return d
}

// data is that in a database, as a client reaches it under a tenure.
type data[C any] struct {
	of    *Client[C]
	under *ReadTenure[C] // nil: nothing is compared
}

// Do implements service.Data. It asks by a connection of its own.
func (d data[C]) Do(ctx context.Context, ask *history.Event) error {
	database := d.of.Database.(Keeping[C])
	conn, err := database.Connect(ctx, ask.Scope)
	if err != nil {
		return err
	}
	defer database.HangUp(conn)
	if long := d.of.Settings.Time(settingLockTimeout); long > 0 {
		if err := database.Hurry(ctx, conn, long); err != nil {
			return err
		}
	}
	var refused error
	if ask.Op == history.OpRead {
		err = d.read(ctx, database, conn, ask)
	} else {
		refused, err = d.change(ctx, database, conn, ask)
	}
	switch {
	case database.Refused(err):
		return fmt.Errorf("%s of %q: %w", ask.Op, ask.Scope, err)
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("%s: there is no row of the lock %q", ask.Op, ask.Scope)
	case err != nil:
		return &lock.UnknownError{Op: ask.Op, Scope: ask.Scope, Err: err}
	}
	return refused
}

func (d data[C]) read(ctx context.Context, database Keeping[C], conn C, ask *history.Event) error {
	value, err := database.Find(ctx, conn, ask.Scope, ask.Key, eachKey(ask))
	ask.Missing = value == nil
	if value != nil {
		ask.Value = *value
	}
	return err
}

// change makes a change. refused is why it was not made.
func (d data[C]) change(ctx context.Context, database Keeping[C], conn C, ask *history.Event) (refused, err error) {
	c := &Change{Lock: ask.Scope, Told: eachKey(ask), Settings: d.of.Settings}
	if d.under != nil {
		c.Read, c.Tenure = d.under.Seen(), d.under.Name()
		if d.of.Settings.Flag(settingCompare) {
			c.Compare = d.of.Recipe.ID
		}
	}
	now, made, err := database.Change(ctx, conn, c)
	switch {
	case err != nil || d.under == nil:
		return nil, err
	case !made:
		return d.under.Stale(now), nil
	}
	d.under.Changed(now)
	return nil, nil
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

// InJSON is what an account is told, as a database keeps it.
func InJSON(told any) json.RawMessage {
	text, err := json.Marshal(told)
	if err != nil {
		panic(err) // events and what a row says always can be
	}
	return text
}
