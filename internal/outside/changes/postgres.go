// Package changes tells what a user's database or Redis has changed, by its own log.
package changes

import (
	"context"
	"crypto/rand"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Postgres is the account of a PostgreSQL by logical decoding.
type Postgres struct {
	conn *pgx.Conn
	slot string
	but  []string // tables that are of no interest
}

// OpenPostgres begins the account of the database at a URL, but for some tables.
func OpenPostgres(ctx context.Context, url string, but []string) (*Postgres, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	p := &Postgres{conn: conn, slot: "fencelab_watch_" + strings.ToLower(rand.Text()), but: but}
	if _, err := conn.Exec(ctx, "SELECT pg_create_logical_replication_slot($1, 'test_decoding', true)", p.slot); err != nil {
		p.Close()
		return nil, fmt.Errorf("what PostgreSQL changes is seen by logical decoding, which needs wal_level = logical and a user with REPLICATION: %w", err)
	}
	return p, nil
}

// Close ends the account. Its slot ends with the connection.
func (p *Postgres) Close() error { return p.conn.Close(context.Background()) }

// Changes are the rows that were changed since the last call: table and primary key. It has all that was committed before.
func (p *Postgres) Changes(ctx context.Context) (changed []string, err error) {
	// A commit that was not waited for reaches the log with this one.
	if _, err := p.conn.Exec(ctx, "SELECT pg_logical_emit_message(true, 'fencelab', '')"); err != nil {
		return nil, err
	}
	rows, err := p.conn.Query(ctx, "SELECT data FROM pg_logical_slot_get_changes($1, NULL, NULL, 'include-xids', 'off', 'skip-empty-xacts', 'on')", p.slot)
	if err != nil {
		return nil, err
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	for _, line := range lines {
		table, op, columns, isRow := rowOf(line)
		if !isRow || slices.Contains(p.but, table[strings.Index(table, ".")+1:]) {
			continue
		}
		key := ""
		if op != "TRUNCATE" {
			if key, err = p.key(ctx, table, columns); err != nil {
				return nil, err
			}
		}
		changed = append(changed, op+" "+table+key)
	}
	return changed, nil
}

var (
	change = regexp.MustCompile(`(?s)^table (.+?): (INSERT|UPDATE|DELETE|TRUNCATE): (.*)$`)
	column = regexp.MustCompile(`(?s)^("(?:[^"]|"")+"|[^\[ ]+)\[(?:[^\[\]]|\[\])*\]:(B?'(?:[^']|'')*'|[^ ]*) ?`)
)

// rowOf reads a line of test_decoding: table public.a: UPDATE: id[integer]:1 b[text]:'c'.
func rowOf(line string) (table, op string, columns map[string]string, is bool) {
	found := change.FindStringSubmatch(line)
	if found == nil {
		return "", "", nil, false
	}
	columns = make(map[string]string)
	rest := strings.TrimPrefix(found[3], "old-key: ")
	for {
		rest = strings.TrimPrefix(rest, "new-tuple: ")
		c := column.FindStringSubmatch(rest)
		if c == nil {
			return found[1], found[2], columns, true
		}
		columns[strings.ReplaceAll(strings.Trim(c[1], `"`), `""`, `"`)] = c[2]
		rest = rest[len(c[0]):]
	}
}

// primaryKey has the columns of a table's primary key.
const primaryKey = `SELECT attname FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey)
WHERE indrelid = $1::regclass AND indisprimary ORDER BY array_position(indkey, attnum)`

// key is the primary key of a row, as in (id 1).
func (p *Postgres) key(ctx context.Context, table string, columns map[string]string) (string, error) {
	rows, err := p.conn.Query(ctx, primaryKey, pgx.QueryExecModeSimpleProtocol, table)
	if err != nil {
		return "", err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return "", err
	}
	if len(names) == 0 {
		return "", noKey(table)
	}
	for i, name := range names {
		names[i] = name + " " + columns[name]
	}
	return "(" + strings.Join(names, ", ") + ")", nil
}

func noKey(table string) error {
	return fmt.Errorf("the table %s has no primary key: which of its rows was changed cannot be told", table)
}
