package mariadb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/kernel"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

var answers = map[uint16]sqlservice.Answer{
	1062: sqlservice.Exists, 1205: sqlservice.GaveUp, 1213: sqlservice.Deadlocked, 1317: sqlservice.Canceled,
}

func (place) Answer(err error) sqlservice.Answer {
	if answered, is := errors.AsType[*mysql.MySQLError](err); is {
		return cmp.Or(answers[answered.Number], sqlservice.Refused)
	}
	return sqlservice.Unanswered
}

type link struct {
	*sqlservice.Link
	to     place
	socket net.Conn
	id     int64 // by which the server knows it
}

func (l *link) Begin(ctx context.Context) error {
	_, err := l.Run(ctx, "START TRANSACTION")
	return err
}

// Hurry rounds to whole seconds.
func (l *link) Hurry(ctx context.Context, long time.Duration) error {
	seconds := "DEFAULT"
	if long > 0 {
		seconds = fmt.Sprintf("%.0f", long.Round(time.Second).Seconds())
	}
	_, err := l.Run(ctx, "SET SESSION innodb_lock_wait_timeout = "+seconds)
	return err
}

// Cancel asks by another connection.
func (l *link) Cancel(ctx context.Context) {
	if by, err := l.to.Beside(ctx); err == nil {
		defer by.HangUp()
		_, _ = by.Run(ctx, fmt.Sprintf("KILL QUERY %d", l.id))
	}
}

// Waits reads what InnoDB says of transactions in words: the table INNODB_TRX is one that is
// kept for as long as it is asked for. A lock of GET_LOCK is in no transaction.
func (l *link) Waits(ctx context.Context, by sqlservice.Conn) (waits bool, err error) {
	const user = "SELECT EXISTS (SELECT * FROM information_schema.PROCESSLIST WHERE id = $1 AND state = 'User lock')"
	if err = by.Row(ctx, user, l.id).Scan(&waits); waits || err != nil {
		return waits, err
	}
	status, err := statusOf(ctx, by)
	return waitsBy(status, l.id), err
}

// statusOf is what InnoDB says of itself.
func statusOf(ctx context.Context, conn sqlservice.Conn) (status string, err error) {
	var engine, name string
	err = conn.Row(ctx, "SHOW ENGINE INNODB STATUS").Scan(&engine, &name, &status)
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

// Ended waits until the server has closed a connection that asks for nothing. What a server
// sends to such a connection is why it closes it.
func (l *link) Ended(ctx context.Context) bool {
	raw, err := l.socket.(*net.TCPConn).SyscallConn()
	if err != nil {
		return true
	}
	forget := context.AfterFunc(ctx, func() { _ = l.socket.SetReadDeadline(time.Unix(1, 0)) })
	_ = raw.Read(func(fd uintptr) bool { return kernel.Readable(fd) })
	if !forget() { // the deadline is set, or is about to be
		<-ctx.Done()
	}
	over := true
	if err := raw.Control(func(fd uintptr) { over = kernel.Readable(fd) }); err != nil {
		return true
	}
	_ = l.socket.SetReadDeadline(time.Time{})
	return over
}

// see reads the row of a lock's data. Nobody changes the row before the transaction is over,
// so that the account has both in the order in which they happened.
func see(ctx context.Context, conn sqlservice.Conn, lock string) (seen sqlservice.Seen, err error) {
	err = conn.Row(ctx, "SELECT version, status FROM resource WHERE name = $1 LOCK IN SHARE MODE", lock).Scan(&seen.Version, &seen.Status)
	return seen, err
}

func tell(ctx context.Context, conn sqlservice.Conn, kind string, told sqlservice.Told) error {
	_, err := conn.Run(ctx, "INSERT INTO told (kind, content) VALUES ($1, $2)", kind, sqlservice.InJSON(told))
	return err
}

// look reads the row, and tells the account of it, in one transaction. One that fails is left
// open, and ends with the connection.
func look(ctx context.Context, conn sqlservice.Conn, a *sqlservice.Attempt, by, kind string) (seen sqlservice.Seen, err error) {
	if err = conn.Begin(ctx); err != nil {
		return seen, err
	}
	if seen, err = see(ctx, conn, a.Lock); err != nil {
		return seen, err
	}
	if err = tell(ctx, conn, kind, sqlservice.Told{Lock: a.Lock, Owner: a.Owner, By: by, Seen: seen}); err == nil {
		_, err = conn.Run(ctx, "COMMIT")
	}
	return seen, err
}

// Find implements sqlservice.Conn. It finds what was committed last, whenever the transaction began.
func (l *link) Find(ctx context.Context, lock, key string, told []history.Event) (value *string, err error) {
	if _, err := see(ctx, l, lock); err != nil {
		return nil, err
	}
	value, err = sqlservice.ValueOf(l.Row(ctx, "SELECT value FROM item WHERE name = $1 LOCK IN SHARE MODE", key))
	if err != nil {
		return nil, err
	}
	return value, tell(ctx, l, sqlservice.ToldDone, sqlservice.Told{Events: told, Value: value})
}

// Change is an UPDATE of the row of the lock, and then a statement for each key.
func (l *link) Change(ctx context.Context, c *sqlservice.Change) (now sqlservice.Seen, made bool, err error) {
	if made, err = l.raise(ctx, c); err != nil {
		return now, false, err
	}
	if now, err = see(ctx, l, c.Lock); err != nil {
		return now, false, err
	}
	if !made {
		return now, false, tell(ctx, l, sqlservice.ToldRefused, sqlservice.Told{Seen: now, Events: c.Told})
	}
	for _, e := range c.Told {
		if _, err := l.Run(ctx, statement("item_put"), e.Key, sqlservice.After(e), sqlservice.InJSON(e)); err != nil {
			return now, false, err
		}
	}
	return now, true, nil
}

// statusKey is the key that the recipe status compares.
const statusKey = "status"

// raise makes the version of the row one higher, unless the row is not as the change wants it.
func (l *link) raise(ctx context.Context, c *sqlservice.Change) (made bool, err error) {
	var changes bool
	var status *string
	for _, e := range c.Told {
		if e.Key == statusKey {
			changes, status = true, sqlservice.After(e)
		}
	}
	return l.Run(ctx, statement("resource_raise"), c.Lock, c.Compare, c.Read.Version, c.Read.Status, changes, status, c.Tenure)
}
