package fencesql

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/fencelab/fencelab/pkg/fence"
)

// undone is an error of a transaction that is not committed: nothing of it remains.
func undone(what string, err error) error {
	return fence.Definite.Wrap(fmt.Errorf("fencesql: %s: nothing was done: %w", what, err))
}

// judged is an error of a statement that commits, or of a commit.
func judged(what string, err error) error {
	if codeOf(err).refused() {
		return undone(what, err)
	}
	return fence.Unknown.Wrap(fmt.Errorf("fencesql: %s: outcome unknown: %w", what, err))
}

// Again reports whether an error says no more than that the transaction is to be made again:
// a serialization failure, a deadlock, or in SQLite a lock that another connection has.
// Nothing of the transaction remains.
func Again(err error) bool { return err != nil && codeOf(err).again() }

// code is what a database says of an error, in numbers. This package imports no driver, and
// knows their errors by their shapes. The zero code is none: the database said nothing.
type code struct {
	state  string // of PostgreSQL: SQLSTATE
	mysql  uint64
	sqlite int
}

func codeOf(err error) code {
	var postgres interface{ SQLState() string } // of pgx and of pq
	if errors.As(err, &postgres) {
		return code{state: postgres.SQLState()}
	}
	var sqlite interface{ Code() int } // of modernc.org/sqlite
	if errors.As(err, &sqlite) {
		const primary = 0xff
		return code{sqlite: sqlite.Code() & primary}
	}
	return code{mysql: numberIn(err)}
}

// numberIn is the number of an error of go-sql-driver/mysql, which has it in a field, among
// those that err wraps. It is 0 where there is none.
func numberIn(err error) uint64 {
	if v := reflect.Indirect(reflect.ValueOf(err)); v.Kind() == reflect.Struct {
		if f := v.FieldByName("Number"); f.Kind() == reflect.Uint16 {
			return f.Uint()
		}
	}
	switch err := err.(type) {
	case interface{ Unwrap() error }:
		return numberIn(err.Unwrap())
	case interface{ Unwrap() []error }:
		for _, part := range err.Unwrap() {
			if n := numberIn(part); n != 0 {
				return n
			}
		}
	}
	return 0
}

// Numbers of MySQL and MariaDB.
const (
	mysqlRecordChanged  = 1020
	mysqlShutdown       = 1053
	mysqlErrorInCommit  = 1180
	mysqlLockDeadlock   = 1213
	mysqlConnectionGone = 1927
)

// Numbers of SQLite.
const (
	sqliteBusy    = 5
	sqliteLocked  = 6
	sqliteIOError = 10
)

func (c code) again() bool {
	return slices.Contains([]string{"40001", "40P01"}, c.state) ||
		c.mysql == mysqlLockDeadlock || c.mysql == mysqlRecordChanged ||
		c.sqlite == sqliteBusy || c.sqlite == sqliteLocked
}

// refused reports whether the database says that what it was asked for was not done.
func (c code) refused() bool {
	switch {
	case len(c.state) == 5:
		// Of a connection, "completion unknown", an operator's doing, the system's and
		// internal ones nobody knows.
		return c.state != "40003" && !slices.Contains([]string{"08", "57", "58", "XX"}, c.state[:2])
	case c.mysql != 0:
		return c.mysql != mysqlShutdown && c.mysql != mysqlErrorInCommit && c.mysql != mysqlConnectionGone
	}
	return c.sqlite != 0 && c.sqlite != sqliteIOError
}
