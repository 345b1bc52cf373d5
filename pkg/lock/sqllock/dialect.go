package sqllock

import (
	"embed"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"

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

//go:embed sql
var sources embed.FS

// statement is one in the form that the driver wants, with the names of its arguments in
// their order.
type statement struct {
	text  string
	names []string
}

var parameter = regexp.MustCompile(`:\w+`)

// statement reads one of the package's. In its file :table stands for the table, and
// :name for the argument of that name.
func (d Dialect) statement(name, table string) (statement, error) {
	source, err := sources.ReadFile("sql/" + string(d) + "/" + name + ".sql")
	if err != nil {
		return statement{}, fence.Definite.New(fmt.Sprintf("sqllock: the dialect %q has no statement %q", string(d), name))
	}
	var s statement
	s.text = parameter.ReplaceAllStringFunc(string(source), func(p string) string {
		if p == ":table" {
			return table
		}
		s.names = append(s.names, p[1:])
		if d == PostgreSQL {
			return fmt.Sprintf("$%d", len(s.names))
		}
		return "?"
	})
	return s, nil
}

// answered is what the database itself says of an error, as far as the driver tells it.
type answered struct {
	state  string // SQLSTATE; "": the database said nothing, or has none
	number int    // of MySQL and of SQLite
	sqlite bool
}

// errorOfMySQL finds the number and the SQLSTATE. Who does not import the driver of MySQL can
// read them in the text alone.
var errorOfMySQL = regexp.MustCompile(`\bError (\d+) \((\w{5})\)`)

func answerIn(err error) (a answered) {
	var postgres interface{ SQLState() string }
	var sqlite interface{ Code() int }
	switch {
	case errors.As(err, &postgres):
		a.state = postgres.SQLState()
	case errors.As(err, &sqlite):
		a.number, a.sqlite = sqlite.Code()&0xff, true
	default:
		if found := errorOfMySQL.FindStringSubmatch(err.Error()); found != nil {
			a.number, _ = strconv.Atoi(found[1])
			a.state = found[2]
		}
	}
	return a
}

// unsent reports whether an error came before anything of a statement was sent: no connection was
// made, or the driver says so, as pgx does.
func unsent(err error) bool {
	var dial *net.OpError
	var before interface{ SafeToRetry() bool }
	return errors.As(err, &dial) && dial.Op == "dial" || errors.As(err, &before) && before.SafeToRetry()
}

// again reports whether the statement did nothing, and may succeed if it is sent again.
func (a answered) again() bool {
	if a.sqlite {
		return a.number == 5 || a.number == 6 // SQLITE_BUSY, SQLITE_LOCKED
	}
	switch a.state {
	case "40001", "40P01", "55P03": // serialization failure, deadlock, lock not available
		return true
	}
	return a.number == 1205 || a.number == 1020 // MySQL's lock wait timeout, record changed since last read
}

// refused reports whether the statement did nothing, by the database's own word.
func (a answered) refused() bool {
	if a.sqlite {
		return a.number != 10 // SQLITE_IOERR
	}
	if a.number == 1290 || a.number == 1036 { // MySQL's server or engine is read-only; the SQLSTATE, HY000, does not say so
		return true
	}
	switch a.state {
	case "", "40003": // statement completion unknown
		return false
	case "57014", "08004", "57P03": // query canceled, connection rejected, cannot connect now
		return true
	}
	switch a.state[:2] {
	case "08", "57", "58", "70", "HY", "XX": // connection, shutdown, system, killed, any other
		return false
	}
	return true
}
