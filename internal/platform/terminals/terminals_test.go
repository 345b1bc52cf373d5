package terminals_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/fencelab/fencelab/internal/platform/terminals"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// within bounds every wait for an event; it decides nothing else.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func listen(t *testing.T, addr string) *terminals.Lanes {
	t.Helper()
	l, err := terminals.Listen(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// shown is what a lane shows, and how it ended.
type shown struct {
	lines *bufio.Reader
	ended chan error
}

func show(ctx context.Context, addr, name string) shown {
	r, w := io.Pipe()
	s := shown{bufio.NewReader(r), make(chan error, 1)}
	go func() {
		s.ended <- terminals.Show(ctx, addr, name, w)
		w.Close()
	}()
	return s
}

func (s shown) want(t *testing.T, want string) {
	t.Helper()
	if got, err := s.lines.ReadString('\n'); err != nil || got != want+"\n" {
		t.Fatalf("the lane shows %q, %v, want %q", got, err, want)
	}
}

// TestLanes: lanes wait for the run and the run for them, each shows what is its own,
// and all end with the run.
func TestLanes(t *testing.T) {
	addr := "@" + rand.Text()
	one, two := show(within(t), addr, "one"), show(within(t), addr, "two")
	l := listen(t, addr)
	if err := l.Await(within(t), []string{"one", "two"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two", "nobody's"} {
		if n, err := fmt.Fprintf(l.Lane(name), "of %s\n", name); n != len(name)+4 || err != nil {
			t.Errorf("%d bytes written to %s, %v", n, name, err)
		}
	}
	one.want(t, "of one")
	two.want(t, "of two")
	l.Close()
	for _, s := range []shown{one, two} {
		if rest, _ := io.ReadAll(s.lines); len(rest) > 0 {
			t.Errorf("a lane shows %q as well", rest)
		}
		if err := <-s.ended; err != nil {
			t.Errorf("a lane ended with %v", err)
		}
	}
}

// TestAwaitSaysWhoIsMissing: it can be broken off.
func TestAwaitSaysWhoIsMissing(t *testing.T) {
	addr := "@" + rand.Text()
	l := listen(t, addr)
	show(within(t), addr, "one")
	if err := l.Await(within(t), []string{"one"}); err != nil {
		t.Fatal(err)
	}
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	if err := l.Await(ctx, []string{"one", "two", "three"}); !errors.Is(err, stopped) || !strings.Contains(err.Error(), "the lanes two, three:") {
		t.Errorf("got %v, want that two and three are missing", err)
	}
}

// TestLaneComesAgain: a new lane of a name takes the place of the old one, which ends.
func TestLaneComesAgain(t *testing.T) {
	addr := "@" + rand.Text()
	l := listen(t, addr)
	old := show(within(t), addr, "one")
	if err := l.Await(within(t), []string{"one"}); err != nil {
		t.Fatal(err)
	}
	again := show(within(t), addr, "one")
	if rest, err := io.ReadAll(old.lines); err != nil || len(rest) > 0 || <-old.ended != nil {
		t.Errorf("the old lane shows %q, %v", rest, err)
	}
	fmt.Fprintln(l.Lane("one"), "to the new one")
	again.want(t, "to the new one")
}

// TestLaneIsInterrupted: a lane ends also while the run goes on, and while there is none.
func TestLaneIsInterrupted(t *testing.T) {
	addr := "@" + rand.Text()
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	if err := terminals.Show(ctx, addr, "one", io.Discard); !errors.Is(err, stopped) {
		t.Errorf("without a run: %v", err)
	}
	l := listen(t, addr)
	ctx, cancel = context.WithCancelCause(t.Context())
	s := show(ctx, addr, "one")
	if err := l.Await(within(t), []string{"one"}); err != nil {
		t.Fatal(err)
	}
	cancel(stopped)
	if err := <-s.ended; err == nil {
		t.Error("the lane was interrupted, and says nothing of it")
	}
}

// TestLaneThatStandsStill holds up nobody, and nor does one that is gone.
func TestLaneThatStandsStill(t *testing.T) {
	addr := "@" + rand.Text()
	l := listen(t, addr)
	conn, err := net.Dial("unix", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintln(conn, "one")
	if err := l.Await(within(t), []string{"one"}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := l.Lane("one").Write(bytes.Repeat([]byte("x"), 10<<20)); err != nil {
			t.Error(err)
		}
	}
}

func TestAddressIsTaken(t *testing.T) {
	addr := "@" + rand.Text()
	listen(t, addr)
	if _, err := terminals.Listen(addr); err == nil || !strings.Contains(err.Error(), "choose another address") {
		t.Errorf("got %v, want what to do", err)
	}
}
