package mariadb

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/kernel"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

// urlEnv has the URL of a MariaDB that is there already, with its password, where no list of
// processes shows it.
const urlEnv = "FENCELAB_MARIADB_URL"

// ownURL is the URL of a server that a run has started, without its address.
const ownURL = "mariadb://root@"

// ownDatabase is the run's in a server that the run has for itself.
const ownDatabase = "gcsim"

// place is a MariaDB, as a program reaches it: the URL but for the address, which is apart,
// as a client's network may be another.
type place struct{ url, addr string }

func open(url string, endpoints []string) (sqlservice.Database, error) {
	if len(endpoints) != 1 {
		return nil, fmt.Errorf("endpoints are %q, want one HOST:PORT", endpoints)
	}
	return place{url, endpoints[0]}, nil
}

// config is how to connect to where a lock is; "" is no lock, and no database. Its sessions have
// the time zone of the tables' columns, which have none.
func (p place) config(lock string) (*mysql.Config, error) {
	u, err := url.Parse(p.url)
	if err != nil {
		return nil, err
	}
	c := mysql.NewConfig()
	c.Logger = &mysql.NopLogger{} // what it would log it returns as well
	c.Net, c.Addr, c.User, c.DBName = "tcp", p.addr, u.User.Username(), databaseOf(lock)
	c.Passwd, _ = u.User.Password()
	c.TLSConfig = u.Query().Get("tls")
	c.Loc, c.ParseTime = time.UTC, true
	c.Params = map[string]string{"time_zone": "'+00:00'"}
	return c, nil
}

func databaseOf(lock string) string {
	if of := sqlservice.DatabaseOf(lock); of != "" || lock == "" {
		return of
	}
	return ownDatabase
}

// quoted is a name in statements that take no parameters.
func quoted(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

func (place) Name() string { return Name }

func (p place) Connect(ctx context.Context, lock string) (sqlservice.Conn, error) {
	c, err := p.config(lock)
	if err != nil {
		return nil, err
	}
	l := &link{to: p}
	c.MultiStatements = true
	c.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		l.socket, err = new(net.Dialer).DialContext(ctx, network, addr)
		return l.socket, err
	}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	if l.Link, err = sqlservice.Open(ctx, connector); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", p.addr, err)
	}
	if err := l.Row(ctx, "SELECT CONNECTION_ID()").Scan(&l.id); err != nil {
		l.HangUp()
		return nil, fmt.Errorf("connect to %s: %w", p.addr, err)
	}
	return l, nil
}

func (p place) Beside(ctx context.Context) (sqlservice.Conn, error) { return p.Connect(ctx, "") }

func (p place) Pool(lock string) (driver.Connector, error) {
	c, err := p.config(lock)
	if err != nil {
		return nil, err
	}
	return mysql.NewConnector(c)
}

// sslModes are what the driver in Java calls the values of the parameter tls.
var sslModes = map[string]string{"true": "verify-full", "skip-verify": "trust"}

func jdbc(u *url.URL, lock string) (driver, path string, parameters url.Values) {
	parameters = make(url.Values)
	if mode := sslModes[u.Query().Get("tls")]; mode != "" {
		parameters.Set("sslMode", mode)
	}
	return "mariadb", "/" + databaseOf(lock), parameters
}

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
