package mariadb

import (
	"net/url"

	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

// springJDBC is a program in Java, with Spring Integration itself.
var springJDBC = sqlservice.SpringJDBC[*link]()

// sslModes are what the driver in Java calls the values of the parameter tls.
var sslModes = map[string]string{"true": "verify-full", "skip-verify": "trust"}

// peerEnv tells a client in Java where it is, by a URL of the driver in Java.
func (places placeAt) peerEnv(endpoints []string, lock string) ([]string, error) {
	at := places(endpoints[0])
	u, err := url.Parse(at.url)
	if err != nil {
		return nil, err
	}
	parameters := make(url.Values)
	if mode := sslModes[u.Query().Get("tls")]; mode != "" {
		parameters.Set("sslMode", mode)
	}
	return []string{sqlservice.JDBC("mariadb", at.addr, "/"+databaseOf(lock), u.User, parameters)}, nil
}
