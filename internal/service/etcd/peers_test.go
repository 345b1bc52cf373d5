package etcd_test

import (
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/golang"
	"github.com/fencelab/fencelab/internal/clients/java/javatest"
	"github.com/fencelab/fencelab/internal/clients/original/originaltest"
	"github.com/fencelab/fencelab/internal/clients/rust"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/lab/labtest"
)

// TestPeers: a client in Java has the tenures, the tokens and the verdicts that gcsim's own has,
// and excludes it.
func TestPeers(t *testing.T) {
	javatest.Need(t)
	labtest.Tell(t, services.Parse(t, "testdata/java.yaml"), lab.Options{Services: services})
}

// TestGo: so has a leader by an Election of Go's package concurrency.
func TestGo(t *testing.T) {
	originaltest.Need(t, golang.Name)
	labtest.Tell(t, services.Parse(t, "testdata/go.yaml"), lab.Options{Services: services})
}

// TestRust: so has a holder by the lock of etcd-client.
func TestRust(t *testing.T) {
	originaltest.Need(t, rust.Name)
	labtest.Tell(t, services.Parse(t, "testdata/rust.yaml"), lab.Options{Services: services})
}

// TestPeerLacks: what a client in Java does not have is refused before anything is started, and so
// is what it alone has.
func TestPeerLacks(t *testing.T) {
	for client, want := range map[string]string{
		"{lock: /lock, by: java/jetcd, session: kept}":    "java/jetcd is a library in a process of its own",
		"{lock: /lock, by: java/jetcd, mode: shared}":     "java/jetcd is a library in a process of its own",
		"{lock: /lock, by: java/jetcd, look: is-owner}":   "java/jetcd is a library in a process of its own",
		"{lock: /lock, by: java/jetcd, token: max}":       "java/jetcd is a library in a process of its own",
		"{lock: /lock, collector: g1}":                    "etcdlock runs in no JVM",
		"{lock: /lock, session: client2}":                 "client2 has no session to share: it is a library in a process of its own",
		"{lock: /lock, by: java/jetcd, token: lease}":     "",
		"{lock: /lock, by: java/jetcd, collector: g1}":    "",
		"{lock: /lock, by: java/jetcd, look: session}":    "",
		"{lock: /lock, by: java/jetcd, member: follower}": "no follower",
	} {
		story := "title: t\nclients:\n  client1: " + client + "\n  client2: {lock: /lock, by: java/jetcd}\n" +
			"steps:\n  - client1: lock\n  - client2: trylock\nvariants:\n  all:\n    expect: {verdict: safe}\n"
		_, err := lab.Language(services).Parse("t.yaml", "t", []byte(story))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", client, err, want)
		}
	}
}

// TestLateUnlock: docs/java.md has what the library says of an unlock that comes too late.
func TestLateUnlock(t *testing.T) {
	javatest.LateUnlocks(t, "testdata/late/*.yaml", lab.Options{Services: services})
}
