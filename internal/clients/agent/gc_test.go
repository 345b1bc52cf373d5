package agent_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/clients/clientcmd"
	"github.com/fencelab/fencelab/internal/clients/clientcmd/clienttest"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// The test binary is an agent, too, that tells how long it stood still.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "ticking" {
		os.Args = append(os.Args[:1], os.Args[2:]...)
		go tick()
		cli.Main(clientcmd.Command(all.List))
	}
	proctest.SideBySide(8)
	os.Exit(m.Run())
}

// tick keeps a goroutine running, and says on standard error after each pause
// of more than 100 ms how long it stood still.
func tick() {
	last := time.Now()
	for range time.Tick(time.Millisecond) {
		now := time.Now()
		if gap := now.Sub(last); gap > 100*time.Millisecond {
			fmt.Fprintln(os.Stderr, gap)
		}
		last = now
	}
}

// gaps collects what tick says.
type gaps struct{ largest atomic.Int64 }

func (g *gaps) Write(b []byte) (int, error) {
	for line := range strings.Lines(string(b)) {
		if d, err := time.ParseDuration(strings.TrimSpace(line)); err == nil {
			g.largest.Store(max(g.largest.Load(), int64(d)))
		}
	}
	return len(b), nil
}

// TestGC stops a real process by its own collector.
func TestGC(t *testing.T) {
	need.Time(t, "to fill a heap whose collection outlasts a lease")
	for _, procs := range []string{"1", "2"} {
		t.Run("GOMAXPROCS="+procs, func(t *testing.T) {
			w := clienttest.New(t)
			cmd := clienttest.Process(t, "ticking", w.Args("agent", "--name", "client1")...)
			cmd.Env = append(os.Environ(), "GODEBUG=gcstoptheworld=1", "GOMAXPROCS="+procs)
			var pauses gaps
			cmd.Stderr = &pauses
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(stdout)
			next := func(kind history.Kind) history.Event {
				t.Helper()
				var e history.Event
				if !lines.Scan() || json.Unmarshal(bytes.TrimSpace(lines.Bytes()), &e) != nil || e.Kind != kind {
					t.Fatalf("the agent says %q, want %q", lines.Text(), kind)
				}
				return e
			}
			say := func(line string) {
				t.Helper()
				if _, err := stdin.Write([]byte(line + "\n")); err != nil {
					t.Fatal(err)
				}
			}
			next(history.KindNote)               // ready
			const want = 2500 * time.Millisecond // the lease ends after up to 1.5 s; the rest is for a machine that is busy in the wrong moment
			began := time.Now()
			say(fmt.Sprintf("load %v", want))
			loaded := next(history.KindNote)
			t.Logf("%s, after %v", loaded.Text, time.Since(began).Round(time.Millisecond))
			if loaded.Took < want {
				t.Fatalf("%+v, want %v at the least", loaded, want)
			}

			say("lock")
			next(history.KindInvoke)
			grant := next(history.KindOK)
			pauses.largest.Store(0)
			say("gc")
			pause := next(history.KindPause)
			// Its lease runs out meanwhile.
			other := w.Take(t, "/lock")
			resume := next(history.KindResume)
			if lost := next(history.KindLost); lost.Tenure != grant.Tenure {
				t.Errorf("lost %+v, held %+v", lost, grant)
			}
			if other.Grant().Token <= grant.Token {
				t.Errorf("tokens %v, then %v", grant.Token, other.Grant().Token)
			}
			stdin.Close()
			if lines.Scan() {
				t.Errorf("at the end it says %s", lines.Text())
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			if pause.Cause != history.CauseGC || resume.Cause != history.CauseGC {
				t.Errorf("causes %q and %q", pause.Cause, resume.Cause)
			}
			gap := time.Duration(pauses.largest.Load())
			t.Logf("the collection stops it for %v, a goroutine for %v", resume.Took, gap)
			if span := resume.At - pause.At; span < resume.Took || span > resume.Took+100*time.Millisecond {
				t.Errorf("from pause to resume %v, took %v", span, resume.Took)
			}
			if gap < resume.Took*9/10 {
				t.Errorf("a goroutine stood still for %v, the agent says %v", gap, resume.Took)
			}
		})
	}
}
