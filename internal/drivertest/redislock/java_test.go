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

// peer is a program in Java that locks and unlocks.
type peer struct {
	t   *testing.T
	in  io.Writer
	out chan string
}

// startPeer runs the peer of a folder in testdata, with its libraries.
func startPeer(t *testing.T, s *redisproc.Server, name, libraries, kind string) *peer {
	t.Helper()
	cmd := exec.Command("java", "-XX:TieredStopAtLevel=1", "-cp", filepath.Join(libraries, "*"),
		filepath.Join("testdata", name, "Peer.java"), s.Addr, kind, scope)
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
	p := &peer{t, in, make(chan string, 100)}
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
	p.want("ready")
	return p
}

func (p *peer) send(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) says() string {
	p.t.Helper()
	select {
	case line := <-p.out:
		return line
	case <-time.After(time.Minute):
		return "nothing"
	}
}

func (p *peer) want(line string) {
	p.t.Helper()
	if got := p.says(); got != line {
		p.t.Fatalf("the peer in Java says %q, want %q", got, line)
	}
}

func (p *peer) do(line, want string) {
	p.t.Helper()
	p.send(line)
	p.want(want)
}

// format is a lock of a peer, and the mode that has its format.
type format struct {
	kind    string
	make    func(redis.UniversalClient) (lock.Backend, error)
	channel string // on which all wait; "": on none, or on one each
}

// TestRedisson: see eachOther; readers hold a lock together; and tokens are of one counter.
func TestRedisson(t *testing.T) {
	libraries := library(t, "redisson")
	mode := func(make func(redis.UniversalClient, time.Duration, ...redislock.Option) (*redislock.Exclusive, error)) func(redis.UniversalClient) (lock.Backend, error) {
		return func(c redis.UniversalClient) (lock.Backend, error) { return make(c, redislock.RedissonTTL) }
	}
	fair := func(c redis.UniversalClient) (lock.Backend, error) {
		return redislock.RedissonFair(c, redislock.RedissonTTL, redislock.RedissonWait)
	}
	readWrite := func(c redis.UniversalClient) (lock.Backend, error) {
		return redislock.RedissonReadWrite(c, redislock.RedissonTTL)
	}
	eachOther(t, "redisson", libraries,
		format{"lock", mode(redislock.Redisson), "redisson_lock__channel:{/lock}"},
		format{"fenced", mode(redislock.RedissonFenced), "redisson_lock__channel:{/lock}"},
		format{"fair", fair, ""},
		format{"write", readWrite, "redisson_rwlock:{/lock}"})

	t.Run("readers", func(t *testing.T) {
		onBoth(t, func(t *testing.T, s *redisproc.Server) {
			java, ours := startPeer(t, s, "redisson", libraries, "read"), join(t, s, readWrite)
			reader := ours.rlock(t)
			java.do("try", "locked")
			wantUnlock(t, reader)
			wantLocked(t, ours.TryLock)
			reader = ours.rlock(t)
			java.do("unlock", "unlocked")
			wantLocked(t, ours.TryLock)
			wantUnlock(t, reader)
			writer := granted(t, ours.TryLock)
			java.do("try", "refused")
			wantUnlock(t, writer)
		})
	})
	t.Run("tokens", func(t *testing.T) {
		onBoth(t, func(t *testing.T, s *redisproc.Server) {
			java, ours := startPeer(t, s, "redisson", libraries, "fenced"), join(t, s, mode(redislock.RedissonFenced))
			java.do("lock", "locked")
			java.do("token", "1")
			java.do("unlock", "unlocked")
			holder := ours.take(t)
			if token := holder.Grant().Token; token != 2 {
				t.Errorf("the token is %d, want 2", token)
			}
			wantUnlock(t, holder)
			java.do("lock", "locked")
			java.do("token", "3")
			java.do("unlock", "unlocked")
		})
	})
}

// TestSpring: see eachOther.
func TestSpring(t *testing.T) {
	eachOther(t, "spring", library(t, "spring"), format{"spin", spring(redislock.SpringTTL), ""}, format{"pubsub", spring(redislock.SpringTTL), ""})
}

// eachOther: locks of a peer and ours exclude each other, and wake each other where they do.
func eachOther(t *testing.T, peer, libraries string, formats ...format) {
	for _, f := range formats {
		t.Run(f.kind, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *redisproc.Server) {
				java, ours := startPeer(t, s, peer, libraries, f.kind), join(t, s, f.make)

				java.do("try", "locked")
				wantLocked(t, ours.TryLock)
				waiting := inBackground(t.Context(), ours.Lock)
				if f.channel != "" {
					ours.listeners(t, f.channel, 1)
				}
				java.do("unlock", "unlocked")
				holder := wantGrant(t, waiting)

				java.do("try", "refused")
				java.send("lock")
				if f.channel != "" {
					ours.listeners(t, f.channel, 1)
				}
				wantUnlock(t, holder)
				java.want("locked")
				java.do("unlock", "unlocked")
				wantUnlock(t, granted(t, ours.TryLock))
			})
		})
	}
}
