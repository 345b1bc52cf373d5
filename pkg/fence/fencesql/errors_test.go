package fencesql

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
)

// The errors of drivers, as they look.
type (
	postgresError string
	mysqlError    struct{ Number uint16 }
	sqliteError   int
)

func (e postgresError) Error() string    { return "ERROR" }
func (e postgresError) SQLState() string { return string(e) }
func (e *mysqlError) Error() string      { return "Error" }
func (e sqliteError) Error() string      { return "error" }
func (e sqliteError) Code() int          { return int(e) }

// TestCodes: what the database says of an error, however it is wrapped.
func TestCodes(t *testing.T) {
	for _, c := range []struct {
		err            error
		again, refused bool
	}{
		{postgresError("40001"), true, true},
		{postgresError("40P01"), true, true},
		{postgresError("40003"), false, false},
		{postgresError("23505"), false, true},
		{postgresError("08006"), false, false},
		{postgresError("57P01"), false, false},
		{postgresError("XX000"), false, false},
		{postgresError(""), false, false},
		{&mysqlError{1213}, true, true},
		{&mysqlError{1020}, true, true},
		{&mysqlError{1205}, false, true},
		{&mysqlError{1062}, false, true},
		{&mysqlError{1290}, false, true}, // the server is read-only
		{&mysqlError{1053}, false, false},
		{&mysqlError{1180}, false, false},
		{sqliteError(5), true, true},
		{sqliteError(5 | 2<<8), true, true}, // SQLITE_BUSY_SNAPSHOT
		{sqliteError(6), true, true},
		{sqliteError(19), false, true},
		{sqliteError(10), false, false},
		{errors.New("broken pipe"), false, false},
		{errors.New("Error 1213 (40001): as somebody wrote"), false, false},
	} {
		for _, err := range []error{c.err, fmt.Errorf("an order: %w", c.err), errors.Join(errors.New("and"), fmt.Errorf("an order: %w", c.err))} {
			if got := Again(err); got != c.again {
				t.Errorf("%#v: again %v, want %v", err, got, c.again)
			}
			want := fence.Unknown
			if c.refused {
				want = fence.Definite
			}
			if got := fence.OutcomeOf(judged("commit", err)); got != want {
				t.Errorf("%#v: outcome %v, want %v", err, got, want)
			}
		}
	}
	if Again(nil) {
		t.Error("no error is to be made again")
	}
}

// TestDialects: each has its statements, with its own signs for arguments.
func TestDialects(t *testing.T) {
	for d, sign := range map[Dialect]string{PostgreSQL: "$4", MySQL: "scope = ?\n", SQLite: "scope = ?\n"} {
		s, err := d.statements()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(s.raise, sign) {
			t.Errorf("%s: %q has no %q", d, s.raise, sign)
		}
		if d.Schema() != s.create || d.Schema() == "" {
			t.Errorf("%s: the schema is %q", d, d.Schema())
		}
	}
	if _, err := Dialect("oracle").statements(); err == nil || fence.OutcomeOf(err) != fence.Definite {
		t.Errorf("a dialect that is none: %v", err)
	}
	if s := Dialect("oracle").Schema(); s != "" {
		t.Errorf("its schema is %q", s)
	}
}
