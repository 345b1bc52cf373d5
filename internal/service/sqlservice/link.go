package sqlservice

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"regexp"
	"strconv"
)

// Link is a connection of database/sql, by a driver that knows only ? in statements.
type Link struct {
	*sql.Conn
	db *sql.DB
}

// Open makes a connection.
func Open(ctx context.Context, connector driver.Connector) (*Link, error) {
	db := sql.OpenDB(connector)
	conn, err := db.Conn(ctx)
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	return &Link{conn, db}, nil
}

// HangUp implements Conn.
func (l *Link) HangUp() {
	_ = l.Conn.Close()
	_ = l.db.Close()
}

// Run implements Conn.
func (l *Link) Run(ctx context.Context, statement string, args ...any) (bool, error) {
	positional, inOrder := positional(statement, args)
	result, err := l.ExecContext(ctx, positional, inOrder...)
	if err != nil {
		return false, err
	}
	rows, err := result.RowsAffected()
	return rows > 0, err
}

// Row implements Conn.
func (l *Link) Row(ctx context.Context, statement string, args ...any) Row {
	positional, inOrder := positional(statement, args)
	return l.QueryRowContext(ctx, positional, inOrder...)
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
