package fencesql

import (
	"embed"
	"fmt"
	"strings"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Dialect is the SQL of a database.
type Dialect string

// The dialects. MySQL is MariaDB's as well.
const (
	PostgreSQL Dialect = "postgresql"
	MySQL      Dialect = "mysql"
	SQLite     Dialect = "sqlite"
)

// statements are those of a dialect.
type statements struct {
	create, look, lock, first, raise string
	// firstBefore has first come before lock, also where the scope has a mark. In MySQL
	// this keeps two transactions from sharing a lock, see first.sql; in SQLite it takes
	// the one lock that writers have, before anything is read.
	firstBefore bool
}

//go:embed sql
var sources embed.FS

var dialects = map[Dialect]statements{
	PostgreSQL: read(PostgreSQL, false),
	MySQL:      read(MySQL, true),
	SQLite:     read(SQLite, true),
}

func read(d Dialect, firstBefore bool) statements {
	return statements{
		create: d.source("create"), look: d.source("look"), lock: d.source("lock"),
		first: d.source("first"), raise: d.source("raise"), firstBefore: firstBefore,
	}
}

// source reads a statement: the dialect's own, or that of all.
func (d Dialect) source(name string) string {
	text, err := sources.ReadFile("sql/" + string(d) + "/" + name + ".sql")
	if err != nil {
		text, err = sources.ReadFile("sql/" + name + ".sql")
	}
	if err != nil {
		panic(err) // of a file that is embedded
	}
	if d != PostgreSQL {
		return string(text)
	}
	var numbered strings.Builder
	for i, part := range strings.Split(string(text), "?") {
		if i > 0 {
			fmt.Fprintf(&numbered, "$%d", i)
		}
		numbered.WriteString(part)
	}
	return numbered.String()
}

// statements are the dialect's, or an error where it is none.
func (d Dialect) statements() (statements, error) {
	s, ok := dialects[d]
	if !ok {
		return s, fence.Definite.New(fmt.Sprintf("fencesql: the dialect is %q, want %q, %q or %q", string(d), PostgreSQL, MySQL, SQLite))
	}
	return s, nil
}

// Schema is the statement that makes the table of marks, fence_marks, where it is not there:
// for users who keep such statements themselves. It is "" where d is no dialect.
func (d Dialect) Schema() string { return dialects[d].create }
