package sqllock_test

import (
	"bufio"
	"database/sql"
	"io"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/drivertest/sqltest"
	"github.com/fencelab/fencelab/internal/need"
	"github.com/fencelab/fencelab/pkg/lock/sqllock"
)

// testSpringRow: what Spring sees of a lock, and that its row goes.
func testSpringRow(t *testing.T, d *sqltest.Database) {
	if d.Driver == "sqlite" {
		t.Skip("Spring does not know it")
	}
	a := join(t, d, spring(long))
	tenure := a.take(t)
	var key, region, client string
	err := a.db.QueryRowContext(t.Context(), "SELECT LOCK_KEY, REGION, CLIENT_ID FROM INT_LOCK").Scan(&key, &region, &client)
	if want := "bc0b3af3-c9b4-3d61-b6a6-1baf79043a0a"; err != nil || key != want || region != "DEFAULT" || client != tenure.Grant().Owner {
		t.Errorf("%+v was granted, and the row has %q, %q, %q, %v, want the key %s", tenure.Grant(), key, region, client, err, want)
	}
	if n := number(t, a.db, "SELECT COUNT(*) FROM INT_LOCK WHERE EXPIRED_AFTER > CREATED_DATE"); n != 1 {
		t.Error("the lock ends before it was taken")
	}
	// Whoever died has left a row behind.
	execute(t, a.db, "UPDATE INT_LOCK SET EXPIRED_AFTER = CREATED_DATE")
	next := join(t, d, spring(long)).take(t)
	a.wantLocked(t)
	wantUnlock(t, next)
	if n := number(t, a.db, "SELECT COUNT(*) FROM INT_LOCK"); n != 0 {
		t.Error("the row is there after the unlock")
	}
}

func testSpringRegions(t *testing.T, d *sqltest.Database) {
	if d.Driver == "sqlite" {
		t.Skip("Spring does not know it")
	}
	a := join(t, d, spring(long))
	b := join(t, d, func(db *sql.DB, d sqllock.Dialect) (*sqllock.Backend, error) {
		return sqllock.Spring(db, d, "other", long)
	})
	a.take(t)
	wantUnlock(t, b.take(t))
	a.wantLocked(t)
	execute(t, a.db, "UPDATE INT_LOCK SET EXPIRED_AFTER = CREATED_DATE")
	b.take(t)
	if n := number(t, a.db, "SELECT COUNT(*) FROM INT_LOCK"); n != 2 {
		t.Errorf("there are %d rows, want one for each region", n)
	}
}

// TestSpring: locks of Spring's own JdbcLockRegistry, in Java, and ours exclude each other on
// a PostgreSQL.
func TestSpring(t *testing.T) {
	libraries := library(t)
	d := withTables(t, sqltest.Postgres(t))
	java, ours := startPeer(t, d, libraries), join(t, d, spring(sqllock.SpringTTL))

	java.do("try", "locked")
	ours.wantLocked(t)
	waiting := inBackground(t.Context(), ours.Lock)
	java.do("unlock", "unlocked")
	holder := wantGrant(t, waiting)

	java.do("try", "refused")
	java.send("lock")
	wantUnlock(t, holder)
	java.want("locked")
	ours.wantLocked(t)
	java.do("unlock", "unlocked")
	wantUnlock(t, ours.take(t))

	t.Run("expired", func(t *testing.T) {
		expire := func() { execute(t, ours.db, "UPDATE INT_LOCK SET EXPIRED_AFTER = CREATED_DATE") }
		java.do("try", "locked")
		expire()
		holder := ours.take(t)
		java.do("unlock", "lost")
		ours.wantLocked(t)
		expire()
		java.do("try", "locked")
		if err := holder.Unlock(t.Context()); err == nil {
			t.Error("a late Unlock frees the lock of Java")
		}
		ours.wantLocked(t)
		java.do("unlock", "unlocked")
	})
}

// library is the folder of what the peer in testdata needs, which Maven fetches.
func library(t *testing.T) string {
	t.Helper()
	need.Programs(t, "to run Spring's JdbcLockRegistry", "java", "mvn")
	dir := t.TempDir()
	cmd := exec.Command("mvn", "-q", "-B", "-f", filepath.Join("testdata", "spring"), "dependency:copy-dependencies", "-DincludeScope=runtime")
	if out, err := exec.Command(cmd.Path, append(cmd.Args[1:], "-DoutputDirectory="+dir)...).CombinedOutput(); err != nil {
		t.Logf("mvn: %v\n%s", err, out)
		need.Missing(t, "the libraries of Spring's JdbcLockRegistry", "to see that its locks are ours", strings.Join(cmd.Args, " "))
	}
	return dir
}

// peer is a program in Java that locks and unlocks.
type peer struct {
	t   *testing.T
	in  io.Writer
	out chan string
}

func startPeer(t *testing.T, d *sqltest.Database, libraries string) *peer {
	t.Helper()
	server, err := url.Parse(d.Source)
	if err != nil {
		t.Fatal(err)
	}
	source := "jdbc:postgresql://" + server.Host + server.Path +
		"?user=" + server.User.Username() + "&currentSchema=" + schema(t, d.Open(t), d)
	cmd := exec.Command("java", "-XX:TieredStopAtLevel=1", "-cp", filepath.Join(libraries, "*"),
		filepath.Join("testdata", "spring", "Peer.java"), source, scope)
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

func (p *peer) want(line string) {
	p.t.Helper()
	select {
	case got := <-p.out:
		if got != line {
			p.t.Fatalf("the peer in Java says %q, want %q", got, line)
		}
	case <-time.After(sqltest.Deadline):
		p.t.Fatalf("the peer in Java says nothing, want %q", line)
	}
}

func (p *peer) do(line, want string) {
	p.t.Helper()
	p.send(line)
	p.want(want)
}
