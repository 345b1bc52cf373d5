package postgres

import (
	"net/url"

	"github.com/jackc/pgx/v5"

	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

// springJDBC is a program in Java, with Spring Integration itself.
var springJDBC = sqlservice.SpringJDBC[*pgx.Conn]()

// peerEnv tells a client in Java where it is, by a URL of the driver in Java, which calls parameters as PostgreSQL does.
func (places placeAt) peerEnv(endpoints []string, lock string) ([]string, error) {
	at := places(endpoints[0])
	u, err := url.Parse(at.url)
	if err != nil {
		return nil, err
	}
	if database := sqlservice.DatabaseOf(lock); database != "" {
		u.Path = "/" + database
	}
	return []string{sqlservice.JDBC("postgresql", at.addr, u.Path, u.User, u.Query())}, nil
}
