// Package peerstest is for tests with clients in Java.
package peerstest

import (
	"testing"

	"github.com/fencelab/fencelab/internal/need"
	"github.com/fencelab/fencelab/internal/peers"
)

// Need leaves the test out where the clients are missing, or Java is.
func Need(t testing.TB) {
	t.Helper()
	need.Programs(t, "to run clients in Java", "java")
	if where, bring := peers.Found(); where == "" {
		need.Missing(t, "the clients in Java", "to tell stories with them", "go run ./cmd/"+bring)
	}
}

// NeedClock leaves the test out where nothing makes the clock of a client in Java wrong.
func NeedClock(t testing.TB) {
	t.Helper()
	if where, bring := peers.FoundClock(); where == "" {
		need.Missing(t, "libfaketime", "to have a client in Java with a wrong clock", bring)
	}
}
