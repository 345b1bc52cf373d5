package postgres

import (
	"net/url"

	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

// PeerEnv says it by a URL of the driver in Java, which calls parameters as PostgreSQL does.
func (Service) PeerEnv(endpoints []string, lock string) ([]string, error) {
	at := placeAt(endpoints[0])
	u, err := url.Parse(at.url)
	if err != nil {
		return nil, err
	}
	if database := sqlservice.DatabaseOf(lock); database != "" {
		u.Path = "/" + database
	}
	return []string{sqlservice.JDBC("postgresql", at.addr, u.Path, u.User, u.Query())}, nil
}
