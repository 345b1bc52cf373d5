package sqlservice

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Conn is a connection of database/sql.
type Conn interface {
	ExecContext(ctx context.Context, statement string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, statement string, args ...any) (*sql.Rows, error)
}

// Changed runs a statement, in which $1 is the first argument, by a driver that knows only ?,
// and reports whether it changed a row.
func Changed(ctx context.Context, conn Conn, statement string, args ...any) (bool, error) {
	positional, inOrder := positional(statement, args)
	result, err := conn.ExecContext(ctx, positional, inOrder...)
	if err != nil {
		return false, err
	}
	rows, err := result.RowsAffected()
	return rows > 0, err
}

var numbered = regexp.MustCompile(`\$\d`)

// positional has a ? for each $1, and the arguments in the order of these.
func positional(statement string, args []any) (string, []any) {
	var inOrder []any
	statement = numbered.ReplaceAllStringFunc(statement, func(parameter string) string {
		n, _ := strconv.Atoi(parameter[1:])
		inOrder = append(inOrder, args[n-1])
		return "?"
	})
	return statement, inOrder
}

// Log is the table told of a database. Triggers write into it what becomes of the rows of
// locks, in the transaction that changes the row.
type Log struct {
	// Locks are those of the run.
	Locks []string
	// Behind is this machine's clock behind the database's.
	Behind time.Duration

	seen map[int64]bool
}

// Round takes in what happened since the last one: the locks that connections have taken, and
// then what rows say. goesOn asks whether a connection still has its lock.
func (l *Log) Round(ctx context.Context, conn Conn, a *Account, taken []Holder, goesOn func(Holder) (bool, error)) error {
	for _, h := range taken {
		if err := a.Check(h.Lock, goesOn); err != nil {
			return err
		}
		a.Taken(h, h.At)
	}
	if err := l.Take(ctx, conn, a); err != nil {
		return err
	}
	a.Expire()
	return a.Check("", goesOn)
}

// Take has an account take in what was committed since the last time. Numbers are given
// before the commit, so a later one may be seen earlier; those of one lock may not, as the
// lock's row is locked in between.
func (l *Log) Take(ctx context.Context, conn Conn, a *Account) error {
	rows, err := conn.QueryContext(ctx, "SELECT number, source, name, owner, until, token FROM told ORDER BY number")
	if err != nil {
		return fmt.Errorf("read what triggers told: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var number int64
		var source, name string
		var owner sql.NullString
		var until sql.NullInt64 // µs since 1970
		var token uint64
		if err := rows.Scan(&number, &source, &name, &owner, &until, &token); err != nil {
			return fmt.Errorf("read what triggers told: %w", err)
		}
		if l.seen[number] {
			continue
		}
		l.see(number)
		a.Row(source, Row{
			Lock: LockOf(name, l.Locks), Owner: owner.String,
			Until: time.UnixMicro(until.Int64).Add(-l.Behind), Token: fence.Token(token),
		})
	}
	return rows.Err()
}

func (l *Log) see(number int64) {
	if l.seen == nil {
		l.seen = make(map[int64]bool)
	}
	l.seen[number] = true
}
