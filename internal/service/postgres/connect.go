package postgres

import (
	"cmp"
	"context"
	"database/sql/driver"
	"fmt"
	"net/url"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// urlEnv has the URL of a PostgreSQL that is there already, with its password, where no
// list of processes shows it.
const urlEnv = "FENCELAB_POSTGRES_URL"

// ownURL is that of a server which a run has started, but for its address.
const ownURL = "postgres://postgres@/postgres?sslmode=disable"

// place is a PostgreSQL, as a program reaches it: the URL but for the address, which is
// apart, as a client's network may be another.
type place struct{ url, addr string }

// placeAt is the PostgreSQL at an address.
type placeAt func(addr string) place

// placesBy are those of a URL; "" is that of one which a run has started.
func placesBy(url string) placeAt {
	return func(addr string) place { return place{cmp.Or(url, ownURL), addr} }
}

// config is how to connect to one of its databases; "" is that of the URL.
func (p place) config(database string) (*pgx.ConnConfig, error) {
	u, err := url.Parse(p.url)
	if err != nil {
		return nil, err
	}
	u.Host = p.addr
	if database != "" {
		u.Path = "/" + database
	}
	config, err := pgx.ParseConfig(u.String())
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["timezone"] = "UTC" // of int_lock's columns, which have none
	return config, nil
}

// pool makes the connections of a pool.
func (p place) pool(database string) (driver.Connector, error) {
	config, err := p.config(database)
	if err != nil {
		return nil, err
	}
	return stdlib.GetConnector(*config), nil
}

// connect connects to one of its databases.
func (p place) connect(ctx context.Context, database string) (*pgx.Conn, error) {
	config, err := p.config(database)
	if err != nil {
		return nil, err
	}
	return p.connectBy(ctx, config)
}

// connectBy is connect, by what config has returned.
func (p place) connectBy(ctx context.Context, config *pgx.ConnConfig) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", p.addr, err)
	}
	return conn, nil
}
