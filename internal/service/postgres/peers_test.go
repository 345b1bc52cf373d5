package postgres_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/peers/peerstest"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service/postgres"
)

// TestPeers: a client in Java has the tenures and the verdicts that this service's own recipe of
// the same lock has, and they exclude each other.
func TestPeers(t *testing.T) {
	peerstest.Need(t)
	peerstest.NeedClock(t)
	program(t, "to tell the stories on")
	shared := labtest.Share(t)
	labtest.Each(t, parse(t, "testdata/java/*.yaml"), func(t *testing.T, s *scenario.Scenario, v *scenario.Variant) {
		labtest.Run(t, s, v, lab.Options{Services: services, Shared: shared})
	})
}

// TestPeerEnv: the URL of the driver in Java has the client's address, the run's database, and
// what the URL of a server that is there says of a user and of TLS.
func TestPeerEnv(t *testing.T) {
	const prefix = "/gcsim-TADKZKKA4TAMFVYJYNAZU436VM"
	for given, want := range map[[2]string]string{
		{"", "/lock"}:          "jdbc:postgresql://h:1/postgres?sslmode=disable&user=postgres",
		{"", prefix + "/lock"}: "jdbc:postgresql://h:1" + prefix + "?sslmode=disable&user=postgres",
		{"postgres://me:p%26q@x/db?sslmode=verify-full", "/lock"}: "jdbc:postgresql://h:1/db?password=p%26q&sslmode=verify-full&user=me",
	} {
		t.Setenv("FENCELAB_POSTGRES_URL", given[0])
		env, err := postgres.Service{}.PeerEnv([]string{"h:1"}, given[1])
		if want := "FENCELAB_JDBC_URL=" + want; err != nil || len(env) != 1 || env[0] != want {
			t.Errorf("%q: %q (%v), want %q", given, env, err, want)
		}
	}
}
