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
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// Keeping is a Database that has the data, too, beside the locks. What it is asked for is part
// of a transaction that was begun before. Where a lock has no row for its data the error is
// sql.ErrNoRows.
type Keeping[C any] interface {
	Holding[C]
	// Find reads a key under a lock. The value is nil where there is none. The account is
	// told of the request, which told is.
	Find(ctx context.Context, conn C, lock, key string, told []history.Event) (value *string, err error)
	// Change makes a change, all of it or nothing. now is the row as the change has made it
	// or, where it compares the row and makes nothing, as the change has found it.
	Change(ctx context.Context, conn C, c *Change) (now Seen, made bool, err error)
	// Keeps reports whether a client with these settings commits what came before a
	// statement that has failed with this error.
	Keeps(err error, of setting.Values) bool
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
func (c KeepingClient[C]) Under(t service.Tenure) (of service.Data, within bool) {
	d := data[C]{of: c.Client}
	if t == nil {
		return d, false
	}
	switch now, _ := c.tenures.Load(t.Name()); now := now.(type) {
	case *ReadTenure[C]:
		d.under = now
	case *heldTenure[C]:
		return inside[C]{d, now}, true
	}
	return d, false
}

// data is that in a database, as a client reaches it under a tenure.
type data[C any] struct {
	of    *Client[C]
	under *ReadTenure[C] // nil: nothing is compared
}

// Do implements service.Data. It asks in a transaction of its own, by a connection of its own.
func (d data[C]) Do(ctx context.Context, ask *history.Event) error {
	database := d.of.Database.(Keeping[C])
	conn, err := database.Connect(ctx, ask.Scope)
	if err != nil {
		return d.refused(ask, err)
	}
	defer database.HangUp(conn) // which undoes what is not committed
	if long := d.of.Settings.Time(settingLockTimeout); long > 0 {
		if err := database.Hurry(ctx, conn, long); err != nil {
			return d.refused(ask, err)
		}
	}
	var now Seen
	made := true
	if err = database.Begin(ctx, conn); err == nil {
		now, made, err = d.ask(ctx, conn, ask)
	}
	if err != nil {
		if database.Keeps(err, d.of.Settings) {
			err = errors.Join(err, database.Commit(ctx, conn))
		}
		return d.refused(ask, err)
	}
	switch err := database.Commit(ctx, conn); {
	case database.Refused(err):
		return d.refused(ask, err)
	case err != nil:
		return &lock.UnknownError{Op: ask.Op, Scope: ask.Scope, Err: err}
	case !made:
		return d.under.Stale(now)
	case d.under != nil && ask.Op != history.OpRead:
		d.under.Changed(now)
	}
	return nil
}

// refused says why a request was not done: nothing of it was committed, or will be.
func (data[C]) refused(ask *history.Event, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fence.Definite.New(fmt.Sprintf("%s: there is no row of the lock %q", ask.Op, ask.Scope))
	}
	return fence.Definite.Wrap(fmt.Errorf("%s of %q: %w", ask.Op, ask.Scope, err))
}

// ask makes a request part of a transaction. now and made are as of Keeping.Change.
func (d data[C]) ask(ctx context.Context, conn C, ask *history.Event) (now Seen, made bool, err error) {
	database, told := d.of.Database.(Keeping[C]), eachKey(ask)
	if ask.Op == history.OpRead {
		value, err := database.Find(ctx, conn, ask.Scope, ask.Key, told)
		ask.Missing = value == nil
		if value != nil {
			ask.Value = *value
		}
		return now, true, err
	}
	c := &Change{Lock: ask.Scope, Told: told, Settings: d.of.Settings}
	if d.under != nil {
		c.Read, c.Tenure = d.under.Seen(), d.under.Name()
		if d.of.Settings.Flag(settingCompare) {
			c.Compare = d.of.Recipe.ID
		}
	}
	return database.Change(ctx, conn, c)
}

// inside is data whose requests are part of the transaction that has the lock.
type inside[C any] struct {
	data[C]
	tenure *heldTenure[C]
}

// Do implements service.Data. After an error nobody commits the transaction: the connection is
// closed, and the tenure is over.
func (i inside[C]) Do(ctx context.Context, ask *history.Event) error {
	return i.tenure.within(func(conn C) error {
		_, _, err := i.ask(ctx, conn, ask)
		if err != nil {
			err = i.refused(ask, err)
		}
		return err
	})
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
