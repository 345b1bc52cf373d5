package postgres

import (
	"fmt"
	"regexp"
	"strings"
)

// change is what happened to a row, in the words of PostgreSQL's test_decoding.
type change struct {
	table   string
	columns map[string]string // without those that are null
}

var (
	changeLine   = regexp.MustCompile(`^table public\.(\w+): (INSERT|UPDATE|DELETE): `)
	changeColumn = regexp.MustCompile(`^(\w+)\[[^\]]*\]:('(?:[^']|'')*'|[^ ]*)(?: |$)`)
)

// parseChange reads a line. Of a row that was deleted there is the key.
func parseChange(line string) (c change, is bool, err error) {
	found := changeLine.FindStringSubmatch(line)
	if found == nil {
		return c, false, nil
	}
	c = change{table: found[1], columns: make(map[string]string)}
	for rest := line[len(found[0]):]; rest != ""; {
		column := changeColumn.FindStringSubmatch(rest)
		if column == nil {
			return c, true, fmt.Errorf("no column begins at %q", rest)
		}
		if value := column[2]; value != "null" {
			c.columns[column[1]] = unquoted(value)
		}
		rest = rest[len(column[0]):]
	}
	return c, true, nil
}

// unquoted is a text without its quotes; what has none stays as it is.
func unquoted(value string) string {
	if !strings.HasPrefix(value, "'") {
		return value
	}
	return strings.ReplaceAll(value[1:len(value)-1], "''", "'")
}

// lockTable says which columns of a table tell of a lock.
type lockTable struct{ lock, owner, until, layout, token string }

const intLockKey = "lock_key"

// lockTables are those whose rows say who holds a lock.
var lockTables = map[string]lockTable{
	"fence_locks": {"scope", "owner", "expires", "2006-01-02 15:04:05.999999-07", "token"},
	"int_lock":    {intLockKey, "client_id", "expired_after", "2006-01-02 15:04:05.999999", ""},
}
