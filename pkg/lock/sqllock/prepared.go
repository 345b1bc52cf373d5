package sqllock

import (
	"context"
	"database/sql"
	"runtime"
	"sync"
)

// database sends statements, by their text.
type database interface {
	ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row
	Stats() sql.DBStats
}

// prepared is a SQLite that parses a statement once for each connection, and not each time that
// the statement is sent: it takes longer to parse than to do. Only Inspect reads single rows,
// by statements that are parsed each time.
type prepared struct {
	*sql.DB
	statements sync.Map // *sql.Stmt, by the text
}

func (p *prepared) ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error) {
	s, err := p.prepare(ctx, text)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(ctx, args...)
}

func (p *prepared) QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	s, err := p.prepare(ctx, text)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args...)
}

// prepare makes a statement that is closed when p is gone: nobody closes a Backend.
func (p *prepared) prepare(ctx context.Context, text string) (*sql.Stmt, error) {
	if made, there := p.statements.Load(text); there {
		return made.(*sql.Stmt), nil
	}
	s, err := p.DB.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	if first, there := p.statements.LoadOrStore(text, s); there {
		return first.(*sql.Stmt), s.Close()
	}
	runtime.AddCleanup(p, func(s *sql.Stmt) { go s.Close() }, s) // which waits for connections in use
	return s, nil
}
