package mariadb

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/fencelab/fencelab/internal/kernel"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

// urlEnv has the URL of a MariaDB that is there already, with its password, where no list of
// processes shows it.
const urlEnv = "FENCELAB_MARIADB_URL"

// ownURL is that of a server which a run has started, but for its address.
const ownURL = "mariadb://root@"

// ownDatabase is the run's in a server that the run has for itself.
const ownDatabase = "gcsim"

// place is a MariaDB, as a program reaches it: the URL but for the address, which is apart,
// as a client's network may be another.
type place struct{ url, addr string }

// placeAt is the MariaDB at an address.
type placeAt func(addr string) place

// placesBy are those of a URL; "" is that of one which a run has started.
func placesBy(url string) placeAt {
	return func(addr string) place { return place{cmp.Or(url, ownURL), addr} }
}

// config is how to connect to it. Its sessions have the time zone of the tables' columns,
// which have none.
func (p place) config() (*mysql.Config, error) {
	u, err := url.Parse(p.url)
	if err != nil {
		return nil, err
	}
	c := mysql.NewConfig()
	c.Net, c.Addr, c.User = "tcp", p.addr, u.User.Username()
	c.Passwd, _ = u.User.Password()
	c.TLSConfig = u.Query().Get("tls")
	c.Loc, c.ParseTime = time.UTC, true
	c.Params = map[string]string{"time_zone": "'+00:00'"}
	return c, nil
}

// pool makes the connections of a pool to one of its databases.
func (p place) pool(database string) (driver.Connector, error) {
	c, err := p.config()
	if err != nil {
		return nil, err
	}
	c.DBName = database
	return mysql.NewConnector(c)
}

// link is one connection.
type link struct {
	*sql.Conn
	db     *sql.DB
	socket net.Conn
	id     int64 // by which the server knows it
}

// connect connects to one of its databases; "" is none.
func (p place) connect(ctx context.Context, database string) (*link, error) {
	c, err := p.config()
	if err != nil {
		return nil, err
	}
	l := new(link)
	c.DBName = database
	c.MultiStatements = true
	c.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		l.socket, err = new(net.Dialer).DialContext(ctx, network, addr)
		return l.socket, err
	}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	l.db = sql.OpenDB(connector)
	if l.Conn, err = l.db.Conn(ctx); err == nil {
		err = l.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&l.id)
	}
	if err != nil {
		hangUp(l)
		return nil, fmt.Errorf("connect to %s: %w", p.addr, err)
	}
	return l, nil
}

// hangUp closes a connection, whatever state it is in.
func hangUp(l *link) {
	if l.Conn != nil {
		_ = l.Conn.Close()
	}
	_ = l.db.Close()
}

// ended waits until the server has closed a connection that asks for nothing, or ctx is done,
// and reports which. What a server sends to such a connection is why it closes it.
func (l *link) ended(ctx context.Context) bool {
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

// databaseOf is the database that has a lock.
func databaseOf(lock string) string {
	if of := sqlservice.DatabaseOf(lock); of != "" || lock == "" {
		return of
	}
	return ownDatabase
}

// quoted is a name in statements that take no parameters.
func quoted(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
