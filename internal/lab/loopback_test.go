package lab_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
)

// listeners are the local addresses on which this process listens, as proc(5) has
// them.
func listeners(t *testing.T) (addrs []string) {
	t.Helper()
	var own []string
	files, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name, err := os.Readlink(f); err == nil {
			own = append(own, name)
		}
	}
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		b, err := os.ReadFile(table)
		if err != nil {
			continue // there is no such protocol here
		}
		for line := range strings.Lines(string(b)) {
			const local, state, inode = 1, 3, 9
			f := strings.Fields(line)
			if len(f) > inode && f[state] == "0A" && slices.Contains(own, "socket:["+f[inode]+"]") {
				addrs = append(addrs, f[local])
			}
		}
	}
	return addrs
}

// TestNetworksAreLocal: while the network of a client is meddled with nobody from
// elsewhere can reach it.
func TestNetworksAreLocal(t *testing.T) {
	t.Parallel()
	s, v := story(t, "client1: lock, gcsim: partition client1 from etcd, gcsim: heal client1, client1: send write k=1, client1: unlock")
	looked := false
	_, err := run(t, t.Context(), s, v, func(events []history.Event) {
		if !slices.ContainsFunc(events, func(e history.Event) bool { return e.Kind == history.KindNetwork }) {
			return
		}
		looked = true
		addrs := listeners(t)
		if len(addrs) < 2 { // one to etcd, one to the storage
			t.Errorf("%d listeners: %v", len(addrs), addrs)
		}
		for _, addr := range addrs {
			if !strings.HasPrefix(addr, "0100007F:") {
				t.Errorf("it listens on %s, which is not 127.0.0.1", addr)
			}
		}
	})
	if err != nil || !looked {
		t.Errorf("got %v; it looked: %v", err, looked)
	}
}
