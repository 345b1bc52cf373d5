package zklock_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/service/zookeeper/zktest"
)

// TestNoHerd: a release wakes one waiter. So the requests grow with the number of waiters,
// and not with its square.
func TestNoHerd(t *testing.T) {
	const waiters = 20
	ctx := bounded(t)
	addr := zktest.Start(t, 1).Members[0].Addr
	servers := []string{addr}
	b := backend(t, long, servers)
	holder := take(ctx, t, b)
	before := received(t, addr)
	var waiting []<-chan answer
	for range waiters {
		waiting = append(waiting, inBackground(ctx, b))
	}
	look(t, servers).until(ctx, t, waiters+1)
	unlock(ctx, t, holder)
	freed := make(chan error)
	for _, w := range waiting {
		go func() {
			a := <-w
			if a.err == nil {
				a.err = a.tenure.Unlock(ctx)
			}
			freed <- a.err
		}()
	}
	for range waiting {
		if err := <-freed; err != nil {
			t.Fatal(err)
		}
	}
	// Each creates its node, looks twice by two requests each, sets a watch, and deletes the
	// node. The eye has a few more, and so do the sessions.
	if n := received(t, addr) - before; n > waiters*7+3*waiters {
		t.Errorf("%d waiters made %d requests", waiters, n)
	}
}

// received is how many requests a server had so far, by its own account.
func received(t *testing.T, addr string) (n int) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "srvr"); err != nil {
		t.Fatal(err)
	}
	says, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(says), "Received: ")
	if _, err := fmt.Sscan(rest, &n); err != nil {
		t.Fatalf("%v in %q", err, says)
	}
	return n
}
