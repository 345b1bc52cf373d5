package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/service/zookeeper/zkproc"
	"github.com/fencelab/fencelab/internal/tools/need"
)

const redisServer = "redis-server"

// TestMain makes the test's program one that bench can start its servers with.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		cli.Main(command(loadNow))
	}
	os.Exit(m.Run())
}

// TestShortRun runs all of it with next to nothing to do: no figure means
// anything, but each has to be there, and go where it belongs.
func TestShortRun(t *testing.T) {
	need.Program(t, redisServer, "to measure it")
	if where, bring := zkproc.Found(); where == "" {
		need.Missing(t, "ZooKeeper", "to measure it", "go run ./cmd/"+bring)
	}
	doc := filepath.Join(t.TempDir(), "doc.md")
	if err := os.WriteFile(doc, []byte("before\n"+markBegin+"\nold\n"+markEnd+"\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := run(context.Background(), smoke, "", doc, &out, t.Output()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Redis 7", "etcd 3",
		"### One write a request", "| 1 | no-op, no timeouts | ", "| 64 | storage | ",
		"### POST /, beside contrib/lock's own storage",
		"### Batches of 64", "| 16 | Redis, 64 scripts pipelined | ",
		"### Durable, 64 writers", "| etcd, Txn with one put, by its Go client | ", "| disk: 4 KiB appended, fdatasync | ",
		"### Lock and unlock in etcd", "| 16 | one for all | concurrency.Mutex | ",
		"### Lock and unlock in Redis", "| 16 | redislock | ", "| 1 | bare commands | ", "| 1 | redsync 4.18.0 | ", "| 16 | bsm/redislock 0.9.4 | ",
		"### Hand-over in Redis", "| 64 | redislock, Fair | ", "| 16 | redislock, one client for all | ", "| 1 | polling every 100 ms | ",
		"### Waiting in Redis", "| 0 | redislock | ", "| 64 | polling every 100 ms | ",
		"### Fenced writes in Redis", "| 1 | fenceredis | ", "| 64 | SET | ",
		"### Lock and unlock in databases", "| SQLite | 1 | sqllock | ", "| SQLite | 16 | sqllock | ",
		"### Hand-over in databases", "| SQLite | 16 | polling every 100 ms | ",
		"### Fenced writes in databases", "| SQLite | 16 | UPDATE by fencesql | ", "| SQLite | 1 | transaction by fencesql | ",
		"### Lock and unlock in ZooKeeper", "| ZooKeeper | 16 | zklock | ",
		"### Hand-over in ZooKeeper", "| 64 | bare requests | ",
		"### From 1,000 to 5,000 keys", " of disk |", " of memory |", "### Start with 5,000 keys",
		"### Latency at 70 %", "| bolt | ",
		"### Beside greedy clients", "| 64 connections with batches of 1,024, a scope each | ", "| snapshots of 5,000 keys, one after another | ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report has no %q", want)
		}
	}
	text, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	if want := "before\n" + markBegin + "\n" + out.String() + markEnd + "\nafter\n"; string(text) != want {
		t.Errorf("the document is\n%s\nwant\n%s", text, want)
	}
}

// TestQuartiles: a spread tells the median and the quartiles, and each goal is judged
// by the figure that it names.
func TestQuartiles(t *testing.T) {
	got := spreadOf([]float64{9, 1, 1.1, 0.5, 0.94, 1.2, 1, 0.96, 1.3, 0.9, 1.1})
	if want := "**1.00** (0.94 to 1.20)"; got.String() != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := spreadOf([]float64{1, 1}).String(); got != "**1.00**" {
		t.Errorf("got %s of a ratio to itself", got)
	}
	var r report
	r.goal("by the median", "a", atLeast, 0.95, got)
	r.goal("by the lower quartile", "", firmly, 0.95, got)
	r.goal("by the highest", "", neverAbove, 4.5, got)
	r.goal("by the median", "b", atLeast, 1.1, got)
	r.goal("by the median", "c", atLeast, 0.95, spreadOf([]float64{1}))
	for _, want := range []string{
		"| by the median | at least 0.95 | a<br>c | **1.00** (0.94 to 1.20)<br>**1.00** | yes<br>yes |",
		"| by the median | at least 1.10 | b | **1.00** (0.94 to 1.20) | no |",
		"| by the lower quartile | at least 0.95, with the lower quartile |  | **1.00** (0.94 to 1.20) | no |",
		"| by the highest | at most 4.50, in every turn |  | **1.00** (0.94 to 1.20) | no |",
	} {
		if !strings.Contains(r.markdown(), want) {
			t.Errorf("the report has no %q:\n%s", want, r.markdown())
		}
	}
}

// TestReplaceWantsMarks: a document without a place for the tables stays as it is.
func TestReplaceWantsMarks(t *testing.T) {
	doc := filepath.Join(t.TempDir(), "doc.md")
	if err := os.WriteFile(doc, []byte("text\n"+markEnd+markBegin), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := replace(doc, "new"); err == nil || !strings.Contains(err.Error(), "between which the tables belong") {
		t.Errorf("got %v", err)
	}
	if text, _ := os.ReadFile(doc); string(text) != "text\n"+markEnd+markBegin {
		t.Errorf("the document was changed: %s", text)
	}
}

// TestContribLockIsMeasured: the original is built, and both storages do what is sent;
// where its port is taken the report says so.
func TestContribLockIsMeasured(t *testing.T) {
	b := startBench(t)
	measure(t, b, "contriblock")
	text := b.report.markdown()
	if measured := strings.Contains(text, "| 64 | contrib/lock's storage | "); !measured && !strings.Contains(text, "Not measured: ") {
		t.Errorf("the report is\n%s", text)
	}
	if ln, err := net.Listen("tcp", ":8080"); err == nil { // else it is taken already
		defer ln.Close()
	}
	taken := &bench{size: smoke}
	measure(t, taken, "contriblock")
	if text := taken.report.markdown(); !strings.Contains(text, "Not measured: contrib/lock's storage knows one port: ") {
		t.Errorf("with its port taken the report is\n%s", text)
	}
}

// TestStaleIsRefusedByRedisToo: the script checks what the storage checks, also
// above 2^53 and with numbers of several lengths.
func TestStaleIsRefusedByRedisToo(t *testing.T) {
	need.Program(t, redisServer, "to run the script")
	client, end := dialRedis(startBench(t).launch(startRedis).addr)
	defer end()
	for _, c := range []struct{ token, want string }{
		{"9", ""}, {"10", ""}, {"9", "STALE 10"}, {"10", ""},
		{"9007199254740993", ""}, {"9007199254740992", "STALE 9007199254740993"}, {"11", "STALE 9007199254740993"},
	} {
		got := ""
		err := client.Eval(t.Context(), redisScript, []string{"mark:a", "a"}, c.token, "value").Err()
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("token %s: got %q, want %q", c.token, got, c.want)
		}
	}
}

// measure does a part by its name.
func measure(t *testing.T, b *bench, name string) {
	t.Helper()
	i := slices.IndexFunc(parts, func(p part) bool { return p.name == name })
	if err := b.measure(parts[i]); err != nil {
		t.Fatal(err)
	}
}

func startBench(t *testing.T) *bench {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	group, err := proc.NewGroup(exe)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := group.Close(); err != nil {
			t.Error(err)
		}
	})
	return &bench{size: smoke, group: group}
}
