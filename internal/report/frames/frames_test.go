package frames_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge/verdict"
	"github.com/fencelab/fencelab/internal/report/frames"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/pkg/fence"
)

func read(t *testing.T, name string) []history.Event {
	t.Helper()
	f, err := os.Open("../testdata/" + name + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	events, err := history.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func film(events []history.Event, o frames.Options) []frames.Frame {
	v := verdict.Judge(events)
	return frames.Of(story.Drawing{Events: events, Outcome: story.Outcome{Name: v.Name, Violations: v.Violations}}, o).Frames
}

// TestMainStory: each frame of the main story, in what matters.
func TestMainStory(t *testing.T) {
	list := film(read(t, "unfenced"), frames.Options{TTLs: map[string]time.Duration{"client1": time.Second}})
	type line struct {
		Holder, One, Two, Value, Message string
		Harm                             bool
	}
	var got []line
	is := func(c frames.Client) string {
		text := c.State
		switch {
		case c.Holds > 0 && c.Believes > 0:
			text += ", holds " + c.Token
		case c.Believes > 0:
			text += ", believes " + c.Token
		}
		if c.Harm != "" {
			text += ", " + c.Harm + " harm"
		}
		return text
	}
	for _, f := range list {
		l := line{One: is(f.Clients[0]), Two: is(f.Clients[1]), Harm: f.Harm}
		if locks := f.Service.Locks; len(locks) > 0 && len(locks[0].Holders) > 0 {
			l.Holder = locks[0].Holders[0].Client
		}
		if v := f.Storage.Values; len(v) > 0 {
			if l.Value = v[0].Client; v[0].Lost != nil {
				l.Value += " over " + v[0].Lost.Client
			}
		}
		for _, m := range f.Messages {
			l.Message += m.From + " " + m.Way + " " + m.To
		}
		got = append(got, l)
	}
	const late = "client1 passes storage"
	want := []line{
		{"", "running", "running", "", "", false},
		{"client1", "running, holds 5", "running", "", "lock service passes client1", false},
		{"client1", "paused, holds 5", "running", "", "", false},
		{"", "paused, believes 5", "running", "", "", false},
		{"client2", "paused, believes 5", "running, holds 9", "", "lock service passes client2", false},
		{"client2", "paused, believes 5", "running, holds 9", "client2", "client2 passes storage", false},
		{"client2", "running, believes 5", "running, holds 9", "client2", "", false},
		{"client2", "running, believes 5, did harm", "running, holds 9, suffered harm", "client1 over client2", late, true},
		{"client2", "running, did harm", "running, holds 9, suffered harm", "client1 over client2", late, false},
		{"", "running, did harm", "running, suffered harm", "client1 over client2", "client2 passes lock service", false},
		{"", "running, did harm", "running, suffered harm", "client1 over client2", "", false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	stopped := list[2].Clients[0]
	if stopped.TTL != 1000 || stopped.Still == nil || *stopped.Still != 14 {
		t.Errorf("the lease of who is stopped: %+v", stopped)
	}
	if again := list[6].Clients[0]; again.Still != nil {
		t.Errorf("who goes on can renew: %+v", again)
	}
}

// TestFramesAreRows: a frame for each row of the pictures, and one before; what is shown of a beginning does not
// change as the story goes on, but for what its judgement says.
func TestFramesAreRows(t *testing.T) {
	for _, name := range []string{"unfenced", "fenced", "blocked", "faults", "eight", "gc", "killed", "unicode", "read"} {
		events := read(t, name)
		b := story.NewBuilder()
		rows := story.Fold(b.Add(events, verdict.Judge(events).Violations), b.Run().Fencing)
		list := film(events, frames.Options{})
		if len(list) != len(rows)+1 {
			t.Errorf("%s: %d frames of %d rows", name, len(list), len(rows))
			continue
		}
		for i, r := range rows {
			if list[i+1].Text != r.Text.String() || list[i+1].Harm != r.Harmful() {
				t.Errorf("%s: frame %d tells %q, row %q", name, i+1, list[i+1].Text, r.Text)
			}
		}
		for _, f := range list {
			if _, err := json.Marshal(f); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func run(lanes ...string) history.Event {
	return history.Event{Lane: history.LaneLab, Kind: history.KindRun, Run: &history.Run{Lanes: lanes}}
}

// TestWaits: a client that asked waits until it has its answer, and is in the queue of its lock; a request waits in
// the network until the storage tells of it, or the network loses it.
func TestWaits(t *testing.T) {
	granted := history.Event{Lane: "etcd", Kind: history.KindGranted, Client: "a", Tenure: "t", Scope: "/l", Token: 3}
	asks := history.Event{At: 1, Lane: "b", Kind: history.KindInvoke, Op: history.OpLock, Scope: "/l"}
	sends := history.Event{At: 2, Lane: "a", Kind: history.KindInvoke, Op: history.OpWrite, Request: "r", Tenure: "t", Token: 3, Key: "k", Value: "v"}
	delay := history.Event{At: 3, Lane: "a", Kind: history.KindNetwork, Cause: history.CauseDelay}
	events := []history.Event{run("etcd", "a", "b", "storage"), granted, asks, sends, delay}
	last := func(more ...history.Event) frames.Frame {
		list := film(slices.Concat(events, more), frames.Options{})
		return list[len(list)-1]
	}
	f := last()
	if !slices.Equal(f.Service.Locks[0].Queue, []string{"b"}) || !f.Clients[1].Waits || f.Clients[0].Waits {
		t.Errorf("who waits: %+v", f)
	}
	if len(f.Messages) != 1 || f.Messages[0].Way != frames.Waits || !slices.Equal(f.Clients[0].Network, []string{history.CauseDelay}) || f.Clients[0].Still != nil {
		t.Errorf("what waits, while the lease is renewed: %+v", f)
	}
	fails := history.Event{At: 4, Lane: "b", Kind: history.KindFail, Op: history.OpLock, Scope: "/l"}
	if f = last(fails); len(f.Service.Locks[0].Queue) > 0 || f.Clients[1].Waits {
		t.Errorf("who was answered waits: %+v", f)
	}
	reset := history.Event{At: 4, Lane: "a", Kind: history.KindNetwork, Cause: history.CauseReset}
	if f = last(reset); len(f.Messages) > 0 {
		t.Errorf("what is lost is under way: %+v", f.Messages)
	}
	deliver := history.Event{At: 4, Lane: "a", Kind: history.KindNetwork, Cause: history.CauseDeliver}
	applied := history.Event{At: 5, Lane: history.LaneStorage, Kind: history.KindApplied, Op: history.OpWrite, Client: "a", Request: "r", Key: "k", Value: "v", Index: 1}
	if f = last(deliver, applied); len(f.Messages) != 1 || f.Messages[0].Way != frames.Passes || len(f.Clients[0].Network) > 0 {
		t.Errorf("what has arrived: %+v", f)
	}
	cut := history.Event{At: 4, Lane: "a", Kind: history.KindNetwork, Cause: history.CausePartition}
	if f = last(cut, deliver, applied); !slices.Equal(f.Clients[0].Network, []string{history.CausePartition}) || f.Clients[0].Still == nil {
		t.Errorf("what has arrived ends no partition: %+v", f)
	}
}

// TestFaults: all faults of a client that last are there, the earliest first. Each ends by its own end alone.
func TestFaults(t *testing.T) {
	events := []history.Event{run("etcd", "a", "storage")}
	for _, cause := range []string{"delay", "partition", "deafen", "delay", "heal", "deafen", "deliver", "delay", "reset", "pause", "heal"} {
		e := history.Event{Lane: "a", Kind: history.KindNetwork, Cause: cause}
		if cause == "pause" {
			e = history.Event{Lane: "a", Kind: history.KindPause}
		}
		events = append(events, e)
	}
	var got []string
	for _, f := range film(events, frames.Options{}) {
		c := f.Clients[0]
		got = append(got, c.State+" "+strings.Join(c.Network, " "))
	}
	want := []string{
		"running ", "running delay", "running delay partition", "running delay partition deafen", "running delay partition deafen", "running delay",
		"running delay deafen", "running deafen", "running deafen delay", "running deafen", "paused deafen", "paused ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestStorage: what it holds follows from what it did, and from what it forgot.
func TestStorage(t *testing.T) {
	applied := func(op, client, key, value string, mark fence.Token) history.Event {
		return history.Event{Lane: history.LaneStorage, Kind: history.KindApplied, Op: op, Client: client, Key: key, Value: value, Scope: "/lock", Mark: mark}
	}
	write := applied(history.OpWrite, "client1", "a", "1", 2)
	later := applied(history.OpWrite, "client2", "b", "2", 4)
	gone := applied(history.OpDelete, "client2", "b", "", 4)
	refused := write
	refused.Kind, refused.Request = history.KindRefused, "r"
	kill := history.Event{Lane: history.LaneStorage, Kind: history.KindKill}
	final := history.Event{Lane: history.LaneStorage, Kind: history.KindFinal, Key: "a", Value: "3"}
	one, two := frames.Value{Key: "a", Value: "1", Client: "client1"}, frames.Value{Key: "b", Value: "2", Client: "client2"}
	four := []frames.Mark{{Lock: "/lock", Mark: "4"}}
	for name, c := range map[string]struct {
		events []history.Event
		forget bool
		values []frames.Value
		marks  []frames.Mark
		times  int // it has refused something
	}{
		"nothing":           {nil, true, []frames.Value{}, []frames.Mark{}, 0},
		"two writes":        {[]history.Event{write, later}, true, []frames.Value{one, two}, four, 0},
		"refused, a delete": {[]history.Event{write, later, refused, refused, gone}, true, []frames.Value{one}, four, 1},
		"killed":            {[]history.Event{write, kill}, true, []frames.Value{}, []frames.Mark{}, 0},
		"killed, synced":    {[]history.Event{later, kill}, false, []frames.Value{two}, four, 0},
		"found at the end":  {[]history.Event{write, later, final}, true, []frames.Value{{Key: "a", Value: "3"}, two}, four, 0},
	} {
		t.Run(name, func(t *testing.T) {
			events := append([]history.Event{run("etcd", "client1", "client2", "storage")}, c.events...)
			d := story.Drawing{Events: events}
			list := frames.Of(d, frames.Options{InMemory: c.forget}).Frames
			s := list[len(list)-1].Storage
			if diff := cmp.Diff([]any{c.values, c.marks, c.times}, []any{s.Values, s.Marks, s.Refused}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestNodes: those that a run begins with are as notes say. Who leads, leads until somebody else does.
func TestNodes(t *testing.T) {
	begin := run("redis", "client1", "client2", "storage")
	begin.Run.Service = "redis"
	begin.Run.Nodes = []history.Node{{Name: "redis1", State: history.NodeRunning, Leads: true}, {Name: "redis2", State: history.NodeRunning}}
	note := func(text string, nodes ...history.Node) history.Event {
		return history.Event{Lane: "redis", Kind: history.KindNote, Text: text, Nodes: nodes}
	}
	list := film([]history.Event{
		begin,
		note("redis2 hears nothing", history.Node{Name: "redis2", State: history.NodeIsolated}),
		note("redis1 is killed", history.Node{Name: "redis1", State: history.NodeDead}),
		note("redis2 is promoted", history.Node{Name: "redis2", State: history.NodeRunning, Leads: true}),
	}, frames.Options{})
	var got []string
	for _, f := range list {
		line := ""
		for _, n := range f.Service.Nodes {
			if line += " " + n.State; n.Leads {
				line += ", leads"
			}
		}
		got = append(got, line)
	}
	want := []string{" running, leads running", " running, leads isolated", " dead, leads isolated", " dead running, leads"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestSkips: a grant whose token is not the next number says so, in its own frame alone.
func TestSkips(t *testing.T) {
	granted := func(lock string, token fence.Token) history.Event {
		return history.Event{Lane: "etcd", Kind: history.KindGranted, Client: "a", Tenure: lock + token.String(), Scope: lock, Token: token}
	}
	list := film([]history.Event{
		run("etcd", "a", "storage"), granted("/l", 2), granted("/l", 3), granted("/l", 6), granted("/m", 9), granted("/l", 4), granted("/l", 8),
		{Lane: "a", Kind: history.KindPause},
	}, frames.Options{})
	var got []bool
	for _, f := range list {
		got = append(got, f.Skips)
	}
	if want := []bool{false, false, false, true, false, false, true, false}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
