package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/java/javatest"
	"github.com/fencelab/fencelab/internal/service/postgres/postgresproc/postgrestest"
)

// TestKilledWithJava: what ends gcsim in the middle of its story ends a client in Java that
// runs, and one that stands still: newWorld sees to that. One whose clock is wrong leaves nothing
// in the machine's shared memory.
func TestKilledWithJava(t *testing.T) {
	t.Parallel()
	javatest.Need(t)
	javatest.NeedClock(t)
	const story = `title: A client in Java stands still
clients:
  client1: {lock: /lock, by: RECIPE, ttl: 30s, ahead: 60s}
  client2: {lock: /lock, by: RECIPE, ttl: 30s}
world: {SERVICE: {SETTINGS}, storage: {fencing: off}}
steps:
  - client1: lock
  - gcsim: pause client1
  - client2: trylock
    name: other
  - SERVICE: await expiry of client1
variants:
  only:
    expect: {verdict: safe}
`
	for name, one := range map[string]struct{ recipe, settings string }{
		"redis":     {recipe: "java/redisson"},
		"etcd":      {recipe: "java/jetcd"},
		"postgres":  {recipe: "java/spring-jdbc"},
		"hazelcast": {"java/hazelcast", "session: 30s"},
	} {
		for _, s := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
			t.Run(name+"/"+s.String(), func(t *testing.T) {
				if name == "postgres" {
					postgrestest.Need(t, "to tell a story on")
				}
				file := filepath.Join(t.TempDir(), "java.yaml")
				if err := os.WriteFile(file, []byte(strings.NewReplacer("RECIPE", one.recipe, "SERVICE", name, "SETTINGS", one.settings).Replace(story)), 0o600); err != nil {
					t.Fatal(err)
				}
				w := newWorld(t)
				p := w.start("gcsim", "run", file)
				p.await("client1 is stopped")
				pids := w.processes()
				p.signal(s)
				if status := p.end(); status == 0 {
					t.Errorf("gcsim ends with status 0:\n%s", p.output())
				}
				for _, pid := range pids {
					if left, _ := filepath.Glob(fmt.Sprintf("/dev/shm/*faketime*_%d", pid)); len(left) > 0 {
						t.Errorf("it leaves %q", left)
					}
				}
			})
		}
	}
}

// TestWithoutJava: a variant with a client in Java is left out by name, with the command that
// brings what is missing.
func TestWithoutJava(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env = append(w.env, "XDG_CACHE_HOME="+w.tmp)
	p := w.start("gcsim", "run", "jvm-collection")
	p.end()
	if out := p.output(); !strings.Contains(out, "services get java") && !strings.Contains(out, "apt-get install default-jdk-headless") {
		t.Errorf("want the command that brings the clients in Java:\n%s", out)
	}
}
