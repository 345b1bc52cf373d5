package mariadb_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/clients/java/javatest"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/mariadb"
)

// TestPeers: a client in Java has the tenures and the verdicts that this service's own recipe of
// the same lock has, and they exclude each other.
func TestPeers(t *testing.T) {
	javatest.Need(t)
	javatest.NeedClock(t)
	program(t, "to tell the stories on")
	shared := labtest.Share(t)
	labtest.Tell(t, services.Parse(t, "testdata/java/*.yaml"), lab.Options{Services: services, Shared: shared})
}

// TestPeerEnv: the URL of the driver in Java has the client's address, the run's database, and
// what the URL of a server that is there says of a user and of TLS.
func TestPeerEnv(t *testing.T) {
	const prefix = "/gcsim-TADKZKKA4TAMFVYJYNAZU436VM"
	javatest.Env(t, mariadb.Service, "FENCELAB_MARIADB_URL", map[[2]string]string{
		{"", "/lock"}:                              "FENCELAB_JDBC_URL=jdbc:mariadb://h:1/gcsim?user=root",
		{"", prefix + "/lock"}:                     "FENCELAB_JDBC_URL=jdbc:mariadb://h:1" + prefix + "?user=root",
		{"mariadb://me:p%26q@x?tls=true", "/lock"}: "FENCELAB_JDBC_URL=jdbc:mariadb://h:1/gcsim?password=p%26q&sslMode=verify-full&user=me",
	})
}
