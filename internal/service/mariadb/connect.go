package mariadb

import (
	"context"
	"database/sql/driver"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

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
