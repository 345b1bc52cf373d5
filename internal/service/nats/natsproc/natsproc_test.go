package natsproc_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/nats/natsproc"
	"github.com/fencelab/fencelab/internal/service/nats/natsproc/natstest"
)

func TestMain(m *testing.M) { proctest.Main(m, natsproc.Command()) }

// deadline is for what is sure to happen.
const deadline = 2 * time.Minute

func start(t *testing.T, config natsproc.Config) (context.Context, *natsproc.Cluster) {
	t.Helper()
	natstest.Need(t)
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	c, err := natsproc.Start(ctx, proctest.Group(t), config)
	if err != nil {
		t.Fatal(err)
	}
	return ctx, c
}

// telling is an account that has begun to tell.
type telling struct {
	*proc.Process
	lines *bufio.Scanner
	asked int
}

func listen(t *testing.T, c *natsproc.Cluster) *telling {
	t.Helper()
	p, err := c.Account()
	if err != nil {
		t.Fatal(err)
	}
	a := &telling{Process: p, lines: bufio.NewScanner(p.Stdout)}
	a.sync(t)
	return a
}

// sync is what it tells until it has told all.
func (a *telling) sync(t *testing.T) (told []string) {
	t.Helper()
	a.asked++
	fmt.Fprintln(a.Stdin, a.asked)
	for a.lines.Scan() {
		what, _, _ := strings.Cut(a.lines.Text(), " ")
		if a.lines.Text() == fmt.Sprint("there ", a.asked) {
			return told
		}
		told = append(told, what)
	}
	t.Fatalf("the account has ended: %v", a.Ended())
	return nil
}

// TestRestart: a bucket in memory is gone when its only member is, and one in files is not.
func TestRestart(t *testing.T) {
	for bucket, want := range map[string]string{natsproc.BucketFile: "", natsproc.BucketMemory: "forget"} {
		ctx, c := start(t, natsproc.Config{Members: 1, Bucket: bucket})
		account, member := listen(t, c), c.Members[0]
		if err := member.Restart(ctx); err == nil || err.Error() != "nats1 still runs: kill it first" {
			t.Errorf("started again while it runs: %v", err)
		}
		if err := member.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := member.Restart(ctx); err != nil {
			t.Fatal(err)
		}
		if told := strings.Join(account.sync(t), " "); told != want {
			t.Errorf("a bucket in %s: after a restart the account says %q, want %q", bucket, told, want)
		}
	}
}

// TestLeader: when the leader is killed, another member leads.
func TestLeader(t *testing.T) {
	ctx, c := start(t, natsproc.Config{Members: 3, Bucket: natsproc.BucketFile})
	account := listen(t, c)
	first, err := c.Leader(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	second, err := c.Leader(ctx)
	if err != nil || second == first {
		t.Fatalf("%s leads, and is dead: %v", first.Name, err)
	}
	if told := account.sync(t); len(told) > 0 {
		t.Errorf("the account tells of %q, and nothing has happened to a lock", told)
	}
	if err := first.Restart(ctx); err != nil {
		t.Fatal(err)
	}
}

// TestTellsAll: a key is written all the time, and each follower dies and comes back meanwhile. The account tells of each
// change, though the bucket keeps the last one alone.
func TestTellsAll(t *testing.T) {
	ctx, c := start(t, natsproc.Config{Members: 3, Bucket: natsproc.BucketFile})
	account := listen(t, c)
	leader, err := c.Leader(ctx)
	if err != nil {
		t.Fatal(err)
	}
	writer := connect(t, leader)
	for _, follower := range c.Members {
		if follower == leader {
			continue
		}
		stop := make(chan struct{})
		written := make(chan int)
		go func() { written <- writer.until(t, stop) }()
		if err := errors.Join(follower.Kill(), follower.Restart(ctx)); err != nil {
			t.Error(err)
		}
		close(stop)
		if wrote, told := <-written, account.sync(t); wrote == 0 || len(told) != wrote {
			t.Errorf("%s died: the key was written %d times, and the account tells of %d changes", follower.Name, wrote, len(told))
		}
	}
}

// writing is a connection to a member, by NATS' protocol of lines.
type writing struct {
	net.Conn
	answers *bufio.Scanner
}

func connect(t *testing.T, m *natsproc.Member) writing {
	t.Helper()
	conn, err := net.Dial("tcp", m.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	w := writing{conn, bufio.NewScanner(conn)}
	w.says(t, "CONNECT {}", "+OK")
	w.says(t, "SUB stored 1", "+OK")
	return w
}

// says sends lines, and waits for the answer to the last one.
func (w writing) says(t *testing.T, lines, answer string) {
	fmt.Fprint(w, lines, "\r\n")
	for w.answers.Scan() {
		if strings.HasPrefix(w.answers.Text(), answer) {
			return
		}
	}
	t.Errorf("no answer %q: %v", answer, w.answers.Err())
}

// until writes the key again and again, each time when the member has stored it, and returns how often.
func (w writing) until(t *testing.T, stop <-chan struct{}) (n int) {
	for ; ; n++ {
		select {
		case <-stop:
			return n
		default:
			w.says(t, "PUB $KV.locks.key stored 1\r\nx", "MSG stored")
		}
	}
}

// TestMissing: without the program it is said what brings it.
func TestMissing(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	_, err := natsproc.Start(t.Context(), proctest.Group(t), natsproc.Config{Members: 1, Bucket: natsproc.BucketFile})
	if want := "nats is missing: gcsim services get nats"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestProgram: go vet sees the program, which is no package of this module.
func TestProgram(t *testing.T) {
	natstest.Need(t)
	dir := t.TempDir()
	if err := natsproc.Program.CopyTo(dir); err != nil {
		t.Fatal(err)
	}
	vet := exec.Command("go", "vet", ".")
	vet.Dir, vet.Env = dir, append(os.Environ(), "GOWORK=off")
	if out, err := vet.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
