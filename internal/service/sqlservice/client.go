package sqlservice

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// Client takes its locks by a recipe. It has a connection for each thing that it does, and
// one for each lock that a connection has, or for all of them.
type Client struct {
	Database Database
	Settings setting.Values
	Recipe   *Recipe

	mu      sync.Mutex       // of pools and kept
	kept    *session         // the last one that had all locks of the client
	pools   map[string]*pool // one for each lock, as each lock may be in another database
	tenures sync.Map         // name → *readTenure, or *heldTenure where the requests are within its transaction
}

func (c *Client) Reach(ctx context.Context) error {
	conn, err := c.Database.Connect(ctx, "")
	if err == nil {
		conn.HangUp()
	}
	return err
}

func (c *Client) Close(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.pools {
		_ = p.db.Close()
	}
	return nil
}

func (c *Client) Lock(ctx context.Context, scope, in string) (service.Tenure, error) {
	return c.take(ctx, "lock", scope, in, nil)
}

func (c *Client) TryLock(ctx context.Context, scope, in string) (service.Tenure, error) {
	return c.take(ctx, opTry, scope, in, nil)
}

// Enqueue asks in the background. It returns when the client waits for the lock, or when
// that has ended.
func (c *Client) Enqueue(ctx context.Context, scope string) (service.Place, error) {
	return service.Wait(ctx, scope, func(ctx context.Context, stands func(owner string)) (service.Tenure, error) {
		return c.take(ctx, "lock", scope, "", stands)
	})
}

const opTry = "trylock"

// take takes a lock by the recipe. It calls stands, unless that is nil, with the name of the
// tenure to be when the client waits for another.
func (c *Client) take(ctx context.Context, op, scope, in string, stands func(owner string)) (service.Tenure, error) {
	if in != "" {
		return nil, service.NotIn(c.Database.Name(), in)
	}
	w := &asking{c, Attempt{Lock: scope, Owner: rand.Text(), Settings: c.Settings}, op}
	by := w.ask
	switch {
	case c.Recipe.Dialect != "":
		by = w.lockOwn
	case c.Recipe.Hold != nil:
		by = w.hold
	case c.Recipe.Same != nil:
		by = w.read
	}
	t, err := by(ctx, stands)
	if err != nil {
		return nil, err
	}
	service.Stand(ctx, t.Grant().Owner)
	return service.Owned{Tenure: t}, nil
}

type asking struct {
	*Client
	Attempt
	op string
}

// failed is why an attempt failed. What the database has refused has had no effect; of what
// it did not answer that is not known.
func (w *asking) failed(op string, err error) error {
	if w.Database.Answer(err) != Unanswered {
		return fence.Definite.Wrap(fmt.Errorf("%s %q: %w", op, w.Attempt.Lock, err))
	}
	return &lock.UnknownError{Op: op, Scope: w.Attempt.Lock, Err: err}
}

// ErrElsewhere is why a Release has released nothing. Behind a pooler the session that has the
// lock may be another one.
var ErrElsewhere = fence.Definite.New("this session of the database does not have the lock")

// undone is what an unlock returns. One that the database has refused finds the lock gone,
// with the connection that had it.
func (w *asking) undone(err error) error {
	switch {
	case err == nil, errors.Is(err, ErrElsewhere):
		return err
	case w.Database.Answer(err) != Unanswered:
		return fmt.Errorf("%w: %w", lock.ErrLost, err)
	}
	return w.failed("unlock", err)
}

// Change is one of the data under a lock.
type Change struct {
	Lock    string
	Told    []history.Event // what the account is to tell of it: an event for each key
	Compare string          // the recipe by which the row is compared; "": it is not
	Read    Seen            // what it is compared with
	Tenure  string          // under which the change is made; "": none
}

func (c *Client) Under(t service.Tenure) (of service.Data, within bool) {
	d := data{of: c}
	if t != nil {
		now, _ := c.tenures.Load(t.Name())
		d.under, _ = now.(*readTenure)
		d.within, _ = now.(*heldTenure)
	}
	return d, d.within != nil
}

// data is that in a database, as a client reaches it under a tenure.
type data struct {
	of     *Client
	under  *readTenure // nil: nothing is compared
	within *heldTenure // its transaction has the requests; nil: each is a transaction of its own
}

// Do implements service.Data. After an error nobody commits a transaction that has the lock: the
// connection is closed, and the tenure is over.
func (d data) Do(ctx context.Context, ask *history.Event) error {
	if d.within == nil {
		return d.alone(ctx, ask)
	}
	return d.within.within(ctx, func(conn Conn) error {
		_, _, err := d.ask(ctx, conn, ask)
		if err != nil {
			err = refused(ask, err)
		}
		return err
	})
}

// alone asks in a transaction of its own, by a connection of its own.
func (d data) alone(ctx context.Context, ask *history.Event) error {
	conn, err := d.of.Database.Connect(ctx, ask.Scope)
	if err != nil {
		return refused(ask, err)
	}
	defer conn.HangUp() // which undoes what is not committed
	if long := d.of.Settings.Time(settingLockTimeout); long > 0 {
		if err := conn.Hurry(ctx, long); err != nil {
			return refused(ask, err)
		}
	}
	var now Seen
	made := true
	if err = conn.Begin(ctx); err == nil {
		now, made, err = d.ask(ctx, conn, ask)
	}
	if err != nil {
		// A statement that has waited too long is undone alone, and what came before it in
		// the transaction stays: then the client chooses.
		if d.of.Database.Answer(err) == GaveUp && d.of.Settings[settingOnTimeout] == onTimeoutCommit {
			_, failed := conn.Run(ctx, "COMMIT")
			err = errors.Join(err, failed)
		}
		return refused(ask, err)
	}
	switch _, err := conn.Run(ctx, "COMMIT"); {
	case d.of.Database.Answer(err) != Unanswered:
		return refused(ask, err)
	case err != nil:
		return &lock.UnknownError{Op: ask.Op, Scope: ask.Scope, Err: err}
	case !made:
		return d.under.stale(now)
	case d.under != nil && ask.Op != history.OpRead:
		d.under.knows.Store(&now)
	}
	return nil
}

// refused says why a request was not done: nothing of it was committed, or will be.
func refused(ask *history.Event, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fence.Definite.New(fmt.Sprintf("%s: there is no row of the lock %q", ask.Op, ask.Scope))
	}
	return fence.Definite.Wrap(fmt.Errorf("%s of %q: %w", ask.Op, ask.Scope, err))
}

// ask makes a request part of a transaction. now and made are as of Conn.Change.
func (d data) ask(ctx context.Context, conn Conn, ask *history.Event) (now Seen, made bool, err error) {
	told := eachKey(ask)
	if ask.Op == history.OpRead {
		value, err := conn.Find(ctx, ask.Scope, ask.Key, told)
		ask.Missing = value == nil
		if value != nil {
			ask.Value = *value
		}
		return now, true, err
	}
	c := &Change{Lock: ask.Scope, Told: told}
	if d.under != nil {
		c.Read, c.Tenure = *d.under.knows.Load(), d.under.of.Owner
		if d.of.Settings.Flag(settingCompare) {
			c.Compare = d.of.Recipe.ID
		}
	}
	return conn.Change(ctx, c)
}

// eachKey is what the account is to tell of a request: an event for each key.
func eachKey(ask *history.Event) []history.Event {
	e := history.Event{
		Lane: history.LaneStorage, Op: ask.Op, Request: ask.Request, Key: ask.Key, Value: ask.Value,
		Scope: ask.Scope, Token: ask.Token, Sequence: ask.Sequence, Mode: ask.Mode,
	}
	return e.EachKey(ask.Changes)
}

// InJSON is what an account is told, as a database keeps it.
func InJSON(told any) string {
	text, err := json.Marshal(told)
	if err != nil {
		panic(err) // events and what a row says always can be
	}
	return string(text)
}

// After is what a key has after a write or a delete; nil: nothing.
func After(e history.Event) *string {
	if e.Op == history.OpDelete {
		return nil
	}
	return &e.Value
}
