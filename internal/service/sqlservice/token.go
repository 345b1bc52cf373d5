package sqlservice

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
	"sync"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/sqllock"
)

// Token is package sqllock, in the SQL of a database.
func Token(d sqllock.Dialect) Recipe {
	return Recipe{
		ID: "token", Shows: history.ShowsGrant, Dialect: d,
		Text: "Package sqllock: a row with owner, end of the lease by the database's clock, and token, which the UPDATE that takes the lock makes one higher. The holder renews the lease.",
	}
}

type pool struct {
	*sqllock.Backend
	db *sql.DB
}

func (c *Client) pool(lock string) (*pool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.pools[lock]; p != nil {
		return p, nil
	}
	connector, err := c.Database.Pool(lock)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(overheard{connector})
	backend, err := sqllock.New(db, c.Recipe.Dialect, (&Attempt{Settings: c.Settings}).TTL())
	if err != nil {
		return nil, err
	}
	c.pools[lock] = &pool{backend, db}
	return c.pools[lock], nil
}

// Inspect is as lock.Inspector says, by package sqllock.
func (c *Client) Inspect(ctx context.Context, scope string) (lock.State, error) {
	if c.Recipe.Dialect == "" {
		return lock.State{}, service.NotTold(c.Recipe)
	}
	p, err := c.pool(scope)
	if err != nil {
		return lock.State{}, err
	}
	return p.Inspect(ctx, scope)
}

// lockOwn has package sqllock wait for the lock, or try it. It calls stands, unless that is nil,
// with the owner that the package has chosen.
func (w *asking) lockOwn(ctx context.Context, stands func(owner string)) (lock.Tenure, error) {
	p, err := w.pool(w.Attempt.Lock)
	switch {
	case err != nil:
		return nil, err
	case w.op == opTry:
		return p.TryLock(ctx, w.Attempt.Lock)
	case stands != nil:
		ctx = context.WithValue(ctx, hearKey{}, &hearing{lock: w.Attempt.Lock, stands: stands})
	}
	return p.Lock(ctx, w.Attempt.Lock)
}

// hearing is what is heard of a wait for a lock: package sqllock tells of its owner only when
// it has the lock. The texts in its first statement, which wants to take the lock, are the
// lock and the owner. Then it looks at the row; who looks again waits.
type hearing struct {
	lock   string
	stands func(owner string)

	mu    sync.Mutex
	owner string
	looks int
}

type hearKey struct{}

func hear(ctx context.Context, statement string, args []driver.NamedValue) {
	h, is := ctx.Value(hearKey{}).(*hearing)
	if !is {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, arg := range args {
		if text, is := arg.Value.(string); is && text != h.lock && h.owner == "" {
			h.owner = text
		}
	}
	if !strings.HasPrefix(statement, "SELECT") {
		return
	}
	if h.looks++; h.looks == 2 {
		h.stands(h.owner)
	}
}

// overheard makes connections of which the statements are heard.
type overheard struct{ driver.Connector }

func (o overheard) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := o.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return heard{conn.(driverConn)}, nil
}

// driverConn is what the drivers of all databases have.
type driverConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
	driver.SessionResetter
}

type heard struct{ driverConn }

func (h heard) ExecContext(ctx context.Context, statement string, args []driver.NamedValue) (driver.Result, error) {
	result, err := h.driverConn.ExecContext(ctx, statement, args)
	if err != driver.ErrSkip { // else it is prepared, and sent then
		hear(ctx, statement, args)
	}
	return result, err
}

func (h heard) QueryContext(ctx context.Context, statement string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := h.driverConn.QueryContext(ctx, statement, args)
	if err != driver.ErrSkip {
		hear(ctx, statement, args)
	}
	return rows, err
}

func (h heard) PrepareContext(ctx context.Context, statement string) (driver.Stmt, error) {
	prepared, err := h.driverConn.PrepareContext(ctx, statement)
	return heardAgain{prepared, statement}, err
}

// heardAgain is a statement that is prepared, and heard each time that it is sent.
type heardAgain struct {
	driver.Stmt
	text string
}

func (h heardAgain) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	hear(ctx, h.text, args)
	return h.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
}

func (h heardAgain) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	hear(ctx, h.text, args)
	return h.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
}
