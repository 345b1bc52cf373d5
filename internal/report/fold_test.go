package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/report/terminal"
	"github.com/fencelab/fencelab/internal/tools/golden"
	"github.com/fencelab/fencelab/pkg/fence"
)

// counting is the history of five clients that count, of which one is stopped
// once, between its look and its write.
func counting(each int) story.Drawing {
	run := &history.Run{
		Scenario: "21-healthy", Title: "Five clients count", Variant: "paused", Fencing: true, Seed: 42,
		Lanes:  []string{"etcd", "client1", "client2", "client3", "client4", "client5", "storage"},
		Expect: history.Expect{Verdict: history.Safe},
	}
	events := []history.Event{{Lane: history.LaneLab, Kind: history.KindRun, Run: run}}
	var now time.Duration
	add := func(lane string, kind history.Kind, e history.Event) {
		now += time.Millisecond / 2
		e.At, e.Lane, e.Kind = now, lane, kind
		events = append(events, e)
	}
	client := func(i int) string { return fmt.Sprintf("client%d", i%5+1) }
	for i := range 5 {
		add(client(i), history.KindInvoke, history.Event{Op: history.OpCount, Key: "counter"})
	}
	for i := range 5 * each {
		c := client(i)
		e := history.Event{Scope: "/lock", Client: c, Tenure: fmt.Sprintf("/lock/%d@%d", i%5, 10+2*i), Token: fence.Token(10 + 2*i)}
		ask := func(op string) history.Event {
			e := e
			e.Op, e.Request, e.Key = op, fmt.Sprintf("%s-%s-%d", c, op, i), "counter"
			e.Value = fmt.Sprint(i)
			if op == history.OpWrite {
				e.Value = fmt.Sprint(i + 1)
			}
			return e
		}
		lock := history.Event{Scope: "/lock", Op: history.OpLock}
		add(c, history.KindInvoke, lock)
		add("etcd", history.KindGranted, e)
		add(c, history.KindOK, lock)
		stopped := i == 5*each/2
		for _, op := range []string{history.OpRead, history.OpWrite} {
			e, kind, reply, index := ask(op), history.KindApplied, history.KindOK, int64(2*i)
			if stopped && op == history.OpWrite {
				add(c, history.KindNote, history.Event{Op: history.OpCount, Text: "stands right before its write"})
				add(c, history.KindPause, history.Event{Cause: history.CauseStop})
				now += time.Second
				add(c, history.KindResume, history.Event{Took: time.Second})
				kind, reply = history.KindRefused, history.KindFail
			}
			add(c, history.KindInvoke, e)
			e.Mark, e.Index = e.Token, index
			if kind == history.KindRefused {
				e.Mark, e.Reason = e.Mark+2, "stale"
			}
			add(history.LaneStorage, kind, e)
			add(c, reply, ask(op))
		}
		add(c, history.KindInvoke, history.Event{Scope: "/lock", Op: history.OpUnlock})
		e.Cause = history.CauseReleased
		add("etcd", history.KindEnded, e)
		add(c, history.KindOK, history.Event{Scope: "/lock", Op: history.OpUnlock})
	}
	for i := range 5 {
		add(client(i), history.KindOK, history.Event{Op: history.OpCount, Key: "counter"})
	}
	add(history.LaneStorage, history.KindFinal, history.Event{Key: "counter", Value: fmt.Sprint(5*each - 1)})
	return story.Drawing{Events: events, Outcome: story.Outcome{Name: history.Safe, OK: true}}
}

// manyRows is how many rows are shown as they are.
const manyRows = 80

func TestFoldGolden(t *testing.T) {
	golden.Check(t, "testdata/count.80.txt", show(t, terminal.Options{}, counting(40)))
	golden.Check(t, "testdata/count.svg", drawn(t, counting(40)))
}

// Folding hides no row that matters, and counts all that it hides.
func TestFold(t *testing.T) {
	all := story.NewBuilder().Add(counting(40).Events, nil)
	rows := story.Fold(all, true)
	if len(all) < 800 || len(rows) > manyRows {
		t.Fatalf("%d rows are folded to %d, want at most %d", len(all), len(rows), manyRows)
	}
	shown := 0
	for i, r := range rows {
		var hidden int
		if n, _ := fmt.Sscanf(r.Text.String(), "… %d ordinary steps", &hidden); n == 1 {
			shown += hidden
		} else {
			shown++
		}
		if i > 0 && r.At < rows[i-1].At {
			t.Errorf("row %d goes back in time", i)
		}
	}
	if shown != len(all) {
		t.Errorf("the folded rows tell of %d steps, want %d", shown, len(all))
	}
	for _, c := range []story.Class{story.ClassPause, story.ClassResume, story.ClassRefuse, story.ClassFinal} {
		if got, want := count(rows, c), count(all, c); got != want {
			t.Errorf("%d rows of class %s are left, want %d", got, c.Name, want)
		}
	}
	if short := all[:manyRows]; len(story.Fold(short, true)) != manyRows {
		t.Error("a short history was folded")
	}
}

// Once all have counted, the terminal holds back nothing.
func TestTerminalAfterCount(t *testing.T) {
	var out bytes.Buffer
	d := counting(40)
	term := terminal.New(&out, terminal.Options{})
	for i := range 20 {
		d.Events = append(d.Events, history.Event{At: time.Hour, Lane: "etcd", Kind: history.KindGranted, Client: fmt.Sprintf("after%d", i)})
	}
	if err := term.Add(d.Events, nil); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if who := fmt.Sprintf("after%d", i); !strings.Contains(out.String(), who) {
			t.Errorf("%s is not drawn before the end", who)
		}
	}
}

func count(rows []story.Row, c story.Class) (n int) {
	for _, r := range rows {
		if r.Class == c {
			n++
		}
	}
	return n
}
