package sqlservice

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"sync"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/sqllock"
)

// Token is package sqllock, in the SQL of a database.
func Token[C any](d sqllock.Dialect) Recipe[C] {
	return Recipe[C]{
		ID: "token", Shows: history.ShowsGrant, Dialect: d,
		Text: "Package sqllock: a row with its owner, the end of its lease by the database's clock, and a token, which the UPDATE that takes the lock makes one higher. The holder renews the lease.",
	}
}

// CreateTokenTable creates the table of the recipe token.
func CreateTokenTable(ctx context.Context, pool driver.Connector, d sqllock.Dialect) error {
	db := sql.OpenDB(pool)
	defer db.Close()
	return sqllock.Create(ctx, db, d)
}

// pools are those of package sqllock: one for each lock, as each lock may be in another
// database.
type pools struct {
	mu   sync.Mutex
	open map[string]*pool
}

type pool struct {
	*sqllock.Backend
	db *sql.DB
}

func (p *pools) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.open {
		_ = one.db.Close()
	}
}

// pool is that of a lock.
func (c *Client[C]) pool(lock string) (*pool, error) {
	c.pools.mu.Lock()
	defer c.pools.mu.Unlock()
	if p := c.pools.open[lock]; p != nil {
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
	if c.pools.open == nil {
		c.pools.open = make(map[string]*pool)
	}
	c.pools.open[lock] = &pool{backend, db}
	return c.pools.open[lock], nil
}

// tryOwn asks package sqllock once.
func (w *asking[C]) tryOwn(ctx context.Context) (service.Tenure, error) {
	p, err := w.pool(w.Attempt.Lock)
	if err != nil {
		return nil, err
	}
	return own(ctx, w.Database.Name())(p.TryLock(ctx, w.Attempt.Lock))
}

// lockOwn has package sqllock wait for the lock. It calls stands, unless that is nil, with the
// owner that the package has chosen.
func (w *asking[C]) lockOwn(ctx context.Context, stands func(owner string)) (service.Tenure, error) {
	p, err := w.pool(w.Attempt.Lock)
	if err != nil {
		return nil, err
	}
	asking := ctx
	if stands != nil {
		asking = context.WithValue(ctx, hearKey{}, &hearing{lock: w.Attempt.Lock, stands: stands})
	}
	return own(ctx, w.Database.Name())(p.Lock(asking, w.Attempt.Lock))
}

// ownTenure is one of package sqllock.
type ownTenure struct {
	lock.Tenure
	in string // the database
}

// own takes in the answer of the package, in a database.
func own(ctx context.Context, in string) func(lock.Tenure, error) (service.Tenure, error) {
	return func(t lock.Tenure, err error) (service.Tenure, error) {
		if err != nil {
			return nil, err
		}
		service.Stand(ctx, t.Grant().Owner)
		return &ownTenure{t, in}, nil
	}
}

// Name implements service.Tenure, as those below do.
func (t *ownTenure) Name() string { return t.Grant().Owner }

func (t *ownTenure) Session() string { return t.Grant().Owner }

func (t *ownTenure) Shown() (token fence.Token, remark string) { return t.Grant().Token, "" }

func (t *ownTenure) Look(_ context.Context, how string) (said string, err error) {
	return "", noLook(t.in, how)
}

// noLook is the answer to a look that no setting names.
func noLook(database, how string) error { return fmt.Errorf("%s: there is no look %q", database, how) }

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
	hear(ctx, statement, args)
	return h.driverConn.ExecContext(ctx, statement, args)
}

func (h heard) QueryContext(ctx context.Context, statement string, args []driver.NamedValue) (driver.Rows, error) {
	hear(ctx, statement, args)
	return h.driverConn.QueryContext(ctx, statement, args)
}
