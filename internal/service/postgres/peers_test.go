package postgres_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/clients/java/javatest"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/postgres"
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
	javatest.Env(t, postgres.Service, "FENCELAB_POSTGRES_URL", map[[2]string]string{
		{"", "/lock"}:          "FENCELAB_JDBC_URL=jdbc:postgresql://h:1/postgres?sslmode=disable&user=postgres",
		{"", prefix + "/lock"}: "FENCELAB_JDBC_URL=jdbc:postgresql://h:1" + prefix + "?sslmode=disable&user=postgres",
		{"postgres://me:p%26q@x/db?sslmode=verify-full", "/lock"}: "FENCELAB_JDBC_URL=jdbc:postgresql://h:1/db?password=p%26q&sslmode=verify-full&user=me",
	})
}

// TestLateUnlock: docs/java.md has what the library says of an unlock that comes too late.
func TestLateUnlock(t *testing.T) {
	program(t, "to tell the story on")
	javatest.LateUnlocks(t, "testdata/java/late/*.yaml", lab.Options{Services: services, Shared: labtest.Share(t)})
}
