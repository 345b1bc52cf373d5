package mariadb

import (
	"context"
	"database/sql/driver"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

// Name is what scenarios call the service.
const Name = "mariadb"

// Dial makes a client.
func Dial(o service.Options) (service.Client, error) {
	if len(o.Endpoints) != 1 {
		return nil, fmt.Errorf("endpoints are %q, want one HOST:PORT", o.Endpoints)
	}
	by := service.RecipeOf(recipes, o.Settings)
	if by.Peer != "" {
		return nil, service.ErrInJava(by.ID)
	}
	c := &sqlservice.Client[*link]{Database: placesBy(os.Getenv(urlEnv))(o.Endpoints[0]), Settings: o.Settings, Recipe: by}
	return sqlservice.KeepingClient[*link]{Client: c}, nil
}

var _ sqlservice.Keeping[*link] = place{}

// Name implements sqlservice.Keeping, as those below do.
func (place) Name() string { return Name }

func (p place) Connect(ctx context.Context, lock string) (*link, error) {
	return p.connect(ctx, databaseOf(lock))
}

func (p place) Pool(lock string) (driver.Connector, error) { return p.pool(databaseOf(lock)) }

func (p place) Beside(ctx context.Context) (*link, error) { return p.connect(ctx, "") }

func (place) HangUp(l *link) { hangUp(l) }

func (place) Refused(err error) bool { return errors.As(err, new(*mysql.MySQLError)) }

func (place) Begin(ctx context.Context, l *link) error { return exec(ctx, l, "START TRANSACTION") }

func (place) Commit(ctx context.Context, l *link) error { return exec(ctx, l, "COMMIT") }

// Hurry rounds to whole seconds.
func (place) Hurry(ctx context.Context, l *link, long time.Duration) error {
	if long == 0 {
		return exec(ctx, l, "SET SESSION innodb_lock_wait_timeout = DEFAULT")
	}
	return exec(ctx, l, fmt.Sprintf("SET SESSION innodb_lock_wait_timeout = %d", int(long.Round(time.Second).Seconds())))
}

// MariaDB's numbers of errors.
const (
	duplicateEntry   = 1062
	lockWaitTimeout  = 1205
	deadlock         = 1213
	queryInterrupted = 1317
)

func (place) GaveUp(err error) bool { return isNumber(err, lockWaitTimeout) }

// Cancel asks by another connection.
func (p place) Cancel(ctx context.Context, l *link) {
	other, err := p.Beside(ctx)
	if err != nil {
		return
	}
	defer hangUp(other)
	_ = exec(ctx, other, fmt.Sprintf("KILL QUERY %d", l.id))
}

func (place) Canceled(err error) bool { return isNumber(err, queryInterrupted) }

//go:embed sql/waits.sql
var waitsStatement string

// Waits reads what InnoDB says of transactions in words: the table INNODB_TRX is one that is
// kept for as long as it is asked for.
func (place) Waits(ctx context.Context, by, l *link) (waits bool, err error) {
	err = by.QueryRowContext(ctx, waitsStatement, l.id).Scan(&waits)
	if waits || err != nil {
		return waits, err
	}
	status, err := statusOf(ctx, by)
	return waitsBy(status, l.id), err
}

// statusOf is what InnoDB says of itself.
func statusOf(ctx context.Context, l *link) (status string, err error) {
	var engine, name string
	err = l.QueryRowContext(ctx, "SHOW ENGINE INNODB STATUS").Scan(&engine, &name, &status)
	return status, err
}

// waitsBy reports whether InnoDB's status says that a connection waits for a lock.
func waitsBy(status string, id int64) bool {
	thread := regexp.MustCompile(fmt.Sprintf(`(?m)^\w+ thread id %d,`, id))
	for _, transaction := range strings.Split(status, "---TRANSACTION ") {
		if thread.MatchString(transaction) {
			return strings.Contains(transaction, "\nLOCK WAIT ")
		}
	}
	return false
}

func (place) Ended(ctx context.Context, l *link) bool { return l.ended(ctx) }

// isNumber reports whether MariaDB has answered with an error of this number.
func isNumber(err error, number uint16) bool {
	var answered *mysql.MySQLError
	return errors.As(err, &answered) && answered.Number == number
}

// exec runs a statement.
func exec(ctx context.Context, l *link, statement string, args ...any) error {
	_, err := l.ExecContext(ctx, statement, args...)
	return err
}

// changed runs a statement that is a transaction of its own, and reports whether it changed
// a row. The victim of a deadlock has done nothing, and asks again.
func changed(ctx context.Context, l *link, statement string, args ...any) (bool, error) {
	for {
		done, err := sqlservice.Changed(ctx, l, statement, args...)
		if !isNumber(err, deadlock) {
			return done, err
		}
	}
}
