package hzproc_test

import (
	"bufio"
	"context"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/clients/java/javatest"
	"github.com/fencelab/fencelab/internal/clients/maven"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/hazelcast/hzproc"
)

func TestMain(m *testing.M) { proctest.Main(m, hzproc.Command()) }

// deadline is for what is sure to happen. Java starts slowly on a machine with much to do.
const deadline = 3 * time.Minute

// session is that of the members. No client opens one.
const session = 5 * time.Second

// TestLife: each member says who tells. When all are killed and started again, they are another
// cluster, at the same addresses.
func TestLife(t *testing.T) {
	javatest.Need(t)
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	c, err := hzproc.Start(ctx, proctest.Group(t), 3, session)
	if err != nil {
		t.Fatal(err)
	}
	first := make(map[string]string) // address → cluster
	for _, m := range c.Members {
		addr, cluster := says(t, m)
		first[addr] = cluster
	}
	if len(first) != 3 {
		t.Errorf("the members serve at %v, want three addresses", first)
	}
	if err := c.Members[0].Restart(ctx); err == nil || err.Error() != "hazelcast1 still runs: kill it first" {
		t.Errorf("started again while it runs: %v", err)
	}
	for _, m := range c.Members {
		if err := m.Process().Kill(); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range c.Members {
		if err := m.Restart(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := proc.AwaitAll(ctx, c.Members); err != nil {
		t.Fatal(err)
	}
	for _, m := range c.Members {
		if addr, cluster := says(t, m); first[addr] == "" || first[addr] == cluster {
			t.Errorf("%s serves at %s in the cluster %s, and before %v", m.Name, addr, cluster, first)
		}
	}
}

// says is the first line of a member's account: where it serves, and in which cluster.
func says(t *testing.T, m *hzproc.Member) (addr, cluster string) {
	t.Helper()
	conn, err := net.Dial("tcp", m.Account)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	line, err := bufio.NewReader(conn).ReadString('\n')
	said := regexp.MustCompile(`^member (127\.0\.0\.1:\d+) ([0-9a-f]{8})\n$`).FindStringSubmatch(line)
	if said == nil {
		t.Fatalf("%s says %q, %v", m.Name, line, err)
	}
	return said[1], said[2]
}

// TestMissing: without Java or the programs it is said what brings them.
func TestMissing(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	missing := func(bring string) {
		t.Helper()
		_, err := hzproc.Start(t.Context(), proctest.Group(t), 3, session)
		if want := "hazelcast is missing: " + bring; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	missing(maven.InstallJava)
	if err := os.WriteFile(filepath.Join(bin, "java"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	missing("gcsim services get java")
}
