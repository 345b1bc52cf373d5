package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fencelab/fencelab/internal/peers/peerstest"
)

// TestKilledWithJava: what ends gcsim in the middle of its story ends a client in Java that
// runs, and one that stands still: newWorld sees to that.
func TestKilledWithJava(t *testing.T) {
	peerstest.Need(t)
	const story = `title: A client in Java stands still
clients:
  client1: {lock: /lock, by: java/redisson, ttl: 30s}
  client2: {lock: /lock, by: java/redisson, ttl: 30s}
world: {redis: {}}
steps:
  - client1: lock
  - gcsim: pause client1
  - client2: trylock
    name: other
  - redis: await expiry of client1
variants:
  only:
    expect: {verdict: safe}
`
	for _, s := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		t.Run(s.String(), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "java.yaml")
			if err := os.WriteFile(file, []byte(story), 0o600); err != nil {
				t.Fatal(err)
			}
			p := newWorld(t).start("gcsim", "run", file)
			p.await("client1 is stopped")
			p.signal(s)
			if status := p.end(); status == 0 {
				t.Errorf("gcsim ends with status 0:\n%s", p.output())
			}
		})
	}
}

// TestWithoutJava: a variant with a client in Java is left out by name, with the command that
// brings what is missing.
func TestWithoutJava(t *testing.T) {
	w := newWorld(t)
	w.env = append(w.env, "XDG_CACHE_HOME="+w.tmp)
	p := w.start("gcsim", "run", "jvm-collection")
	p.end()
	if out := p.output(); !strings.Contains(out, "services get java") && !strings.Contains(out, "apt-get install default-jdk-headless") {
		t.Errorf("want the command that brings the clients in Java:\n%s", out)
	}
}
