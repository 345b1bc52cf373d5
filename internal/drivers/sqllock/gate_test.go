package sqllock_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fencelab/fencelab/internal/drivers/sqltest"
)

// gate stands between a client and its driver, also that of a database that has no network.
type gate struct {
	driver driver.Driver
	source string

	parsed   atomic.Int64   // how many statements were prepared
	prepared sync.WaitGroup // those of them that are not closed

	mu      sync.Mutex
	shut    chan struct{}                                // closed when the gate opens; nil: it is open
	rewrite func(string) string                          // nil: a statement is sent as it is
	through func(ctx context.Context, send func()) error // nil: a statement is sent once, and its answer comes
}

// openBy opens a database through a gate. It closes with the test.
func openBy(t *testing.T, d *sqltest.Database) (*sql.DB, *gate) {
	t.Helper()
	db, g := newGate(t, d)
	t.Cleanup(func() { db.Close() })
	return db, g
}

func newGate(t testing.TB, d *sqltest.Database) (*sql.DB, *gate) {
	if d.Driver == "mysql" {
		d = with(d, "interpolateParams=true") // else each statement is prepared, and passes no gate
	}
	db, err := sql.Open(d.Driver, d.Source) // which knows the driver
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	g := &gate{driver: db.Driver(), source: d.Source}
	return sql.OpenDB(g), g
}

// crash lets nothing through, be it sent or answered, until wake.
func (g *gate) crash() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut == nil {
		g.shut = make(chan struct{})
	}
}

func (g *gate) wake() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut != nil {
		close(g.shut)
		g.shut = nil
	}
}

// on has statements sent by through from now on.
func (g *gate) on(through func(ctx context.Context, send func()) error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.through = through
}

func (g *gate) pass(ctx context.Context) error {
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	if shut == nil {
		return nil
	}
	select {
	case <-shut:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// send does what a statement does, between two passages of the gate.
func (g *gate) send(ctx context.Context, do func()) error {
	if err := g.pass(ctx); err != nil {
		return err
	}
	g.mu.Lock()
	through := g.through
	g.mu.Unlock()
	if through == nil {
		do()
	} else if err := through(ctx, do); err != nil {
		return err
	}
	return g.pass(ctx)
}

// sent is the answer to a statement, if it passes the gate.
func sent[T any](ctx context.Context, g *gate, do func() (T, error)) (answer T, err error) {
	if lost := g.send(ctx, func() { answer, err = do() }); lost != nil {
		return *new(T), lost
	}
	return answer, err
}

func (g *gate) text(query string) string {
	if g.rewrite == nil {
		return query
	}
	return g.rewrite(query)
}

// Connect and Driver are as driver.Connector has them.
func (g *gate) Connect(context.Context) (driver.Conn, error) {
	c, err := g.driver.Open(g.source)
	if err != nil {
		return nil, err
	}
	return gated{c, g}, nil
}

func (g *gate) Driver() driver.Driver { return g.driver }

// gated is a connection through a gate.
type gated struct {
	driver.Conn
	gate *gate
}

func (c gated) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if strings.Contains(query, "@@autocommit") { // which is asked once, before the first lock
		return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
	}
	return sent(ctx, c.gate, func() (driver.Rows, error) {
		return readAll(c.Conn.(driver.QueryerContext).QueryContext(ctx, c.gate.text(query), args))
	})
}

func (c gated) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return sent(ctx, c.gate, func() (driver.Result, error) {
		return c.Conn.(driver.ExecerContext).ExecContext(ctx, c.gate.text(query), args)
	})
}

func (c gated) Prepare(query string) (driver.Stmt, error) {
	stmt, err := c.Conn.Prepare(c.gate.text(query))
	if err != nil {
		return nil, err
	}
	c.gate.parsed.Add(1)
	c.gate.prepared.Add(1)
	return prepared{stmt, c.gate}, nil
}

// prepared is a statement that passes the gate each time that it is sent.
type prepared struct {
	driver.Stmt
	gate *gate
}

func (p prepared) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return sent(ctx, p.gate, func() (driver.Rows, error) {
		return readAll(p.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args))
	})
}

func (p prepared) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return sent(ctx, p.gate, func() (driver.Result, error) {
		return p.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
	})
}

func (p prepared) Close() error {
	defer p.gate.prepared.Done()
	return p.Stmt.Close()
}

// rows are those of an answer that has come as a whole.
type rows struct {
	columns []string
	values  [][]driver.Value
}

func readAll(from driver.Rows, err error) (driver.Rows, error) {
	if err != nil {
		return nil, err
	}
	defer from.Close()
	all := &rows{columns: from.Columns()}
	for {
		row := make([]driver.Value, len(all.columns))
		switch err := from.Next(row); err {
		case nil:
			all.values = append(all.values, row)
		case io.EOF:
			return all, nil
		default:
			return nil, err
		}
	}
}

func (r *rows) Columns() []string { return r.columns }
func (r *rows) Close() error      { return nil }

func (r *rows) Next(row []driver.Value) error {
	if len(r.values) == 0 {
		return io.EOF
	}
	copy(row, r.values[0])
	r.values = r.values[1:]
	return nil
}
