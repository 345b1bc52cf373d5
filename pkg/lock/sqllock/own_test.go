package sqllock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
)

// stateError is an error as pgx has it, and codeError one as the driver of SQLite has it.
type stateError string

func (e stateError) Error() string    { return "state " + string(e) }
func (e stateError) SQLState() string { return string(e) }

type codeError int

func (e codeError) Error() string { return fmt.Sprint("code ", int(e)) }
func (e codeError) Code() int     { return int(e) }

func TestAnswerIn(t *testing.T) {
	const (
		again   = "again"
		refused = "refused"
		unknown = "unknown"
	)
	for _, tt := range []struct {
		err  error
		want string
	}{
		{io.ErrUnexpectedEOF, unknown},
		{context.Canceled, unknown},
		{errors.New("Error is not (42000)"), unknown},
		{stateError("42P01"), refused},  // undefined table
		{stateError("25006"), refused},  // read-only transaction
		{stateError("57014"), refused},  // query canceled
		{stateError("57P01"), unknown},  // admin shutdown
		{stateError("08006"), unknown},  // connection failure
		{stateError("08004"), refused},  // connection rejected
		{stateError("57P03"), refused},  // cannot connect now
		{stateError("40003"), unknown},  // statement completion unknown
		{stateError("XX000"), unknown},  // internal error
		{stateError("40001"), again},    // serialization failure
		{stateError("40P01"), again},    // deadlock
		{stateError("55P03"), again},    // lock not available
		{codeError(1), refused},         // SQLITE_ERROR
		{codeError(10 | 1<<8), unknown}, // SQLITE_IOERR_READ
		{codeError(5 | 2<<8), again},    // SQLITE_BUSY_SNAPSHOT
		{codeError(6), again},           // SQLITE_LOCKED
		{errors.New("Error 1146 (42S02): Table 'test.missing' doesn't exist"), refused},
		{errors.New("Error 1290 (HY000): The MariaDB server is running with the --read-only option so it cannot execute this statement"), refused},
		{errors.New("Error 1036 (HY000): Table 'fence_locks' is read only"), refused},
		{errors.New("Error 1040 (08004): Too many connections"), refused},
		{errors.New("Error 1053 (08S01): Server shutdown in progress"), unknown},
		{errors.New("Error 1927 (70100): Connection was killed"), unknown},
		{errors.New("Error 1180 (HY000): Got error 28 during COMMIT"), unknown},
		{errors.New("Error 1213 (40001): Deadlock found when trying to get lock; try restarting transaction"), again},
		{errors.New("Error 1205 (HY000): Lock wait timeout exceeded; try restarting transaction"), again},
		{errors.New("Error 1020 (HY000): Record has changed since last read in table 'fence_locks'"), again},
	} {
		for _, err := range []error{tt.err, fmt.Errorf("wrapped: %w", tt.err)} {
			said, got := answerIn(err), unknown
			switch {
			case said.again():
				got = again
			case said.refused():
				got = refused
			}
			if got != tt.want {
				t.Errorf("%v: %s, want %s", err, got, tt.want)
			}
		}
	}
}

// TestSpringKey: the keys are those of Java's UUID.nameUUIDFromBytes and UUID.fromString.
func TestSpringKey(t *testing.T) {
	for name, want := range map[string]string{
		"foo":                                  "acbd18db-4cc2-385c-adef-654fccc4a4d8",
		"/lock":                                "bc0b3af3-c9b4-3d61-b6a6-1baf79043a0a",
		"6F9619FF-8B86-D011-B42D-00C04FC964FF": "6f9619ff-8b86-d011-b42d-00c04fc964ff",
	} {
		got, err := springKey(name)
		if err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", name, got, err, want)
		}
	}
	if a, b := randomUUID(), randomUUID(); a == b || !uuidText.MatchString(a) || a[14] != '4' {
		t.Errorf("got %q and %q, want two UUIDs of version 4", a, b)
	}
}
