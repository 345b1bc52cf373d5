package redislock_test

import (
	"bufio"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/need"
	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/internal/service/redis/redistest"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
)

// The originals, in Java, on one server with the modes that have their formats.

// library is the folder of what a peer in testdata needs, which Maven fetches.
func library(t *testing.T, name string) string {
	t.Helper()
	need.Programs(t, "to run "+name, "java", "mvn")
	dir := t.TempDir()
	cmd := exec.Command("mvn", "-q", "-B", "-f", filepath.Join("testdata", name), "dependency:copy-dependencies", "-DincludeScope=runtime")
	if out, err := exec.Command(cmd.Path, append(cmd.Args[1:], "-DoutputDirectory="+dir)...).CombinedOutput(); err != nil {
		t.Logf("mvn: %v\n%s", err, out)
		need.Missing(t, "the libraries of "+name, "to see that its locks are ours", strings.Join(cmd.Args, " "))
	}
	return dir
}

// peer is a program in Java that locks and unlocks, in several ways.
type peer struct {
	in  io.Writer
	out chan string
}

// startPeer runs the peer of a folder in testdata, with its libraries.
func startPeer(t *testing.T, s *redisproc.Server, name, libraries string) *peer {
	t.Helper()
	cmd := exec.Command("java", "-XX:TieredStopAtLevel=1", "-cp", filepath.Join(libraries, "*"),
		filepath.Join("testdata", name, "Peer.java"), s.Addr, scope)
	var says strings.Builder
	cmd.Stderr = &says
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &peer{in, make(chan string, 100)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if line := lines.Text(); !strings.Contains(line, " ") { // what its libraries say
				p.out <- line
			}
		}
		close(p.out)
	}()
	t.Cleanup(func() {
		in.Close()
		<-read
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Errorf("the peer in Java: %v\n%s", err, &says)
		}
	})
	p.want(t, "ready")
	return p
}

func (p *peer) send(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

func (p *peer) says() string {
	select {
	case line := <-p.out:
		return line
	case <-time.After(3 * time.Minute):
		return "nothing"
	}
}

func (p *peer) want(t *testing.T, line string) {
	t.Helper()
	if got := p.says(); got != line {
		t.Fatalf("the peer in Java says %q, want %q", got, line)
	}
}

func (p *peer) do(t *testing.T, line, want string) {
	t.Helper()
	p.send(t, line)
	p.want(t, want)
}

// besideJava runs tests on each server, with a peer of its own. Each test finds the server
// empty. No other test runs meanwhile: Java keeps the processor busy.
func besideJava(t *testing.T, name string, tests map[string]func(*testing.T, *redisproc.Server, *peer)) {
	libraries := library(t, name)
	for kind, server := range redistest.Servers() {
		t.Run(kind, func(t *testing.T) {
			s := server(t)
			java, client := startPeer(t, s, name, libraries), redistest.Connect(t, s)
			for name, test := range tests {
				t.Run(name, func(t *testing.T) {
					if err := client.FlushAll(t.Context()).Err(); err != nil {
						t.Fatal(err)
					}
					test(t, s, java)
				})
			}
		})
	}
}

// TestRedisson: see eachOther; readers hold a lock together; and tokens are of one counter.
func TestRedisson(t *testing.T) {
	mode := func(make func(redis.UniversalClient, time.Duration, ...redislock.Option) (*redislock.Exclusive, error)) func(redis.UniversalClient) (lock.Backend, error) {
		return func(c redis.UniversalClient) (lock.Backend, error) { return make(c, redislock.RedissonTTL) }
	}
	fair := func(c redis.UniversalClient) (lock.Backend, error) {
		return redislock.RedissonFair(c, redislock.RedissonTTL, redislock.RedissonWait)
	}
	readWrite := func(c redis.UniversalClient) (lock.Backend, error) {
		return redislock.RedissonReadWrite(c, redislock.RedissonTTL)
	}
	besideJava(t, "redisson", map[string]func(*testing.T, *redisproc.Server, *peer){
		"lock":   eachOther("lock", mode(redislock.Redisson), "redisson_lock__channel:{/lock}"),
		"fenced": eachOther("fenced", mode(redislock.RedissonFenced), "redisson_lock__channel:{/lock}"),
		"fair":   eachOther("fair", fair, ""),
		"write":  eachOther("write", readWrite, "redisson_rwlock:{/lock}"),
		"readers": func(t *testing.T, s *redisproc.Server, java *peer) {
			ours := join(t, s, readWrite)
			reader := ours.rlock(t)
			java.do(t, "read try", "locked")
			wantUnlock(t, reader)
			wantLocked(t, ours.TryLock)
			reader = ours.rlock(t)
			java.do(t, "read unlock", "unlocked")
			wantLocked(t, ours.TryLock)
			wantUnlock(t, reader)
			writer := granted(t, ours.TryLock)
			java.do(t, "read try", "refused")
			wantUnlock(t, writer)
		},
		"tokens": func(t *testing.T, s *redisproc.Server, java *peer) {
			ours := join(t, s, mode(redislock.RedissonFenced))
			java.do(t, "fenced lock", "locked")
			java.do(t, "fenced token", "1")
			java.do(t, "fenced unlock", "unlocked")
			holder := ours.take(t)
			if token := holder.Grant().Token; token != 2 {
				t.Errorf("the token is %d, want 2", token)
			}
			wantUnlock(t, holder)
			java.do(t, "fenced lock", "locked")
			java.do(t, "fenced token", "3")
			java.do(t, "fenced unlock", "unlocked")
		},
	})
}

// TestSpring: see eachOther.
func TestSpring(t *testing.T) {
	besideJava(t, "spring", map[string]func(*testing.T, *redisproc.Server, *peer){
		"spin":   eachOther("spin", spring(redislock.SpringTTL), ""),
		"pubsub": eachOther("pubsub", spring(redislock.SpringTTL), ""),
	})
}

// eachOther is a test that a kind of a peer's lock and the mode that has its format exclude
// each other, and wake each other where they do: by a channel on which all wait, or "".
func eachOther(kind string, make func(redis.UniversalClient) (lock.Backend, error), channel string) func(*testing.T, *redisproc.Server, *peer) {
	return func(t *testing.T, s *redisproc.Server, java *peer) {
		ours := join(t, s, make)
		java.do(t, kind+" try", "locked")
		wantLocked(t, ours.TryLock)
		waiting := inBackground(t.Context(), ours.Lock)
		if channel != "" {
			ours.listeners(t, channel, 1)
		}
		java.do(t, kind+" unlock", "unlocked")
		holder := wantGrant(t, waiting)

		java.do(t, kind+" try", "refused")
		java.send(t, kind+" lock")
		if channel != "" {
			ours.listeners(t, channel, 1)
		}
		wantUnlock(t, holder)
		java.want(t, "locked")
		java.do(t, kind+" unlock", "unlocked")
		wantUnlock(t, granted(t, ours.TryLock))
	}
}
