package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"github.com/fencelab/fencelab/internal/service/mariadb/mariadbproc"
	"github.com/fencelab/fencelab/internal/service/postgres/postgresproc"
	"github.com/fencelab/fencelab/pkg/fence/fencesql"
	"github.com/fencelab/fencelab/pkg/lock/sqllock"
)

// database is a kind of database.
type database struct {
	name   string
	locks  sqllock.Dialect
	fences fencesql.Dialect

	now, later string // its clock, and a minute after that
	forUpdate  string // has a query lock its row
	numbered   bool   // parameters are $1, $2, …

	// program is the server's, "" where it is missing; missing says how to get it.
	program func() string
	missing string
	// source starts it, and is how it is opened, by a driver. The server ends with the group.
	source func(b *bench, program string) (driver, source string, err error)
}

var databases = []*database{
	{
		name: "PostgreSQL", locks: sqllock.PostgreSQL, fences: fencesql.PostgreSQL,
		now: "clock_timestamp()", later: "clock_timestamp() + interval '1 minute'", forUpdate: " FOR UPDATE", numbered: true,
		program: postgresproc.Program, missing: "postgres is not installed (" + postgresproc.Install + ")",
		source: func(b *bench, program string) (driver, source string, err error) {
			ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
			defer cancel()
			s, err := postgresproc.Start(ctx, b.group, program)
			if err != nil {
				return "", "", err
			}
			return "pgx", s.URL(), nil
		},
	},
	{
		name: "MariaDB", locks: sqllock.MySQL, fences: fencesql.MySQL,
		now: "UTC_TIMESTAMP(6)", later: "UTC_TIMESTAMP(6) + INTERVAL 1 MINUTE", forUpdate: " FOR UPDATE",
		program: mariadbproc.Program, missing: "mariadbd is not installed (" + mariadbproc.Install + ")",
		source: func(b *bench, program string) (driver, source string, err error) {
			ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
			defer cancel()
			s, err := mariadbproc.Start(ctx, b.group, program)
			if err != nil {
				return "", "", err
			}
			config := s.Config()
			config.InterpolateParams = true // else each statement is three round trips
			db, err := sql.Open("mysql", config.FormatDSN())
			if err != nil {
				return "", "", err
			}
			config.DBName = "bench"
			_, err = db.ExecContext(ctx, "CREATE DATABASE "+config.DBName)
			return "mysql", config.FormatDSN(), errors.Join(err, db.Close())
		},
	},
	{
		name: "SQLite", locks: sqllock.SQLite, fences: fencesql.SQLite,
		now: "CAST(unixepoch('subsec') * 1000 AS integer)", later: "CAST(unixepoch('subsec') * 1000 AS integer) + 60000",
		program: func() string { return "SQLite" }, // a library
		source: func(b *bench, _ string) (driver, source string, err error) {
			settings := url.Values{"_txlock": {"immediate"}, "_pragma": {"busy_timeout(60000)", "journal_mode(wal)", "synchronous(off)"}}
			return "sqlite", "file:" + filepath.Join(b.group.Dir, "bench.db") + "?" + settings.Encode(), nil
		},
	},
}

// statement is one in the words of the database; its parameters are written as ?.
func (d *database) statement(text string) string {
	text = strings.NewReplacer("NOW", d.now, "LATER", d.later, " FOR UPDATE", d.forUpdate).Replace(text)
	for n := 1; d.numbered && strings.Contains(text, "?"); n++ {
		text = strings.Replace(text, "?", fmt.Sprint("$", n), 1)
	}
	return text
}

// inDatabases measures what the project does in databases: locks, and fenced writes.
func (b *bench) inDatabases() error {
	locks := b.report.table("Lock and unlock in databases",
		"A free lock is taken and given back at once: by sqllock; and by two UPDATEs of a row, which are the least that a lock takes. Each client has a connection and a lock of its own. *of the bare statements*: the time that a lock and its unlock take as a part of theirs, of the same round. The servers do not sync what they commit.",
		"", "clients", "", "locks/s", "of the bare statements, time")
	passed := b.report.table("Hand-over in databases",
		"As in \"Hand-over in Redis\". sqllock, and who polls by the bare statements, ask every 100 ms.",
		"", "waiters", "", "hand-overs", "p50, ms", "p99, ms", "of polling, p50")
	written := b.report.table("Fenced writes in databases",
		"A write to one of 1,000 rows: by an UPDATE that has the token as its condition (Update of fencesql) and by the bare UPDATE; and by a transaction with the check of a mark (Do of fencesql) and by the same transaction without. Each connection writes rows and shows scopes of its own. *of the bare*: the time a write as a part of that of the same without a fence, of the same round.",
		"", "connections", "", "writes/s", "of the bare, time")
	for _, d := range databases {
		program := d.program()
		if program == "" {
			b.report.note("Locks and fenced writes in "+d.name, "Not measured: "+d.missing+".")
			continue
		}
		if err := b.inDatabase(d, program, locks, passed, written); err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
	}
	return nil
}

func (b *bench) inDatabase(d *database, program string, locks, passed, written *table) (err error) {
	driver, source, err := d.source(b, program)
	if err != nil {
		return err
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	const most = 64 // connections at the same time; none is made anew
	db.SetMaxOpenConns(most)
	db.SetMaxIdleConns(most)
	return errors.Join(
		b.sqlLocks(d, db, locks),
		b.sqlHandOver(d, db, passed),
		b.sqlWrites(d, db, written))
}
