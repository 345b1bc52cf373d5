package judge_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge"
	"github.com/fencelab/fencelab/internal/judge/lockmodel"
	"github.com/fencelab/fencelab/pkg/fence"
)

// incident has two clients that write the same key, each under a lock of which the service tells nothing.
type incident struct {
	shows  string
	tokens [2]fence.Token
	// When each asks, is told, and has its write applied, in seconds.
	asks, told, writes [2]int
	more               []history.Event
}

func (c incident) events() []history.Event {
	tell := func(at int, e history.Event) history.Event {
		e.At = time.Duration(at) * time.Second
		return e
	}
	events := []history.Event{{Lane: history.LaneLab, Kind: history.KindRun, Run: &history.Run{
		Version: history.Version, Scenario: "s", Service: "locks", Lanes: []string{"locks", "a", "b", "storage"},
		Tokens: map[string]string{"a": c.shows, "b": c.shows},
	}}}
	for i, name := range []string{"a", "b"} {
		write := history.Event{Lane: name, Kind: history.KindInvoke, Op: history.OpWrite, Tenure: name + "1", Request: name + "-1", Scope: "l", Token: c.tokens[i], Key: "k", Value: name}
		applied := write
		applied.Lane, applied.Kind, applied.Tenure = history.LaneStorage, history.KindApplied, ""
		events = append(events,
			tell(c.asks[i], history.Event{Lane: name, Kind: history.KindInvoke, Op: history.OpLock, Scope: "l"}),
			tell(c.told[i], history.Event{Lane: name, Kind: history.KindOK, Op: history.OpLock, Scope: "l", Tenure: name + "1", Token: c.tokens[i]}),
			tell(c.told[i], write), tell(c.writes[i], applied))
	}
	events = append(events, c.more...)
	history.Sort(events)
	return append(events, tell(100, history.Event{Lane: history.LaneLab, Kind: history.KindEnd}))
}

// TestByClients: what the clients' accounts and the storage's order tell is judged, and what they do not tell is said.
func TestByClients(t *testing.T) {
	const none, grant = history.ShowsNone, history.ShowsGrant
	clocks := func(ttl, skew time.Duration) judge.Clocks {
		return judge.Clocks{TTL: ttl * time.Second, Skew: skew * time.Second}
	}
	unlock := history.Event{At: 3 * time.Second, Lane: "a", Kind: history.KindInvoke, Op: history.OpUnlock, Scope: "l", Tenure: "a1"}
	late := incident{none, [2]fence.Token{}, [2]int{0, 11}, [2]int{1, 12}, [2]int{14, 13}, nil}
	renewed := late
	renewed.more = []history.Event{
		{At: 5 * time.Second, Lane: "a", Kind: history.KindInvoke, Op: history.OpRenew, Scope: "l", Tenure: "a1"},
		{At: 6 * time.Second, Lane: "a", Kind: history.KindOK, Op: history.OpRenew, Scope: "l", Tenure: "a1"},
	}
	doubtful := renewed
	doubtful.more = []history.Event{renewed.more[0], renewed.more[1]}
	doubtful.more[1].Kind = history.KindUnknown
	readers := late
	readers.more = []history.Event{{At: 2 * time.Second, Lane: "c", Kind: history.KindInvoke, Op: history.OpLock, Scope: "l"}, {At: 3 * time.Second, Lane: "c", Kind: history.KindUnknown, Op: history.OpLock, Scope: "l"}}
	for _, tt := range []struct {
		name               string
		of                 incident
		clocks             judge.Clocks
		verdict            string
		exclusive, ordered lockmodel.Answer
		says               string
	}{
		{"by times", late, clocks(10, 0), history.Corrupted, "yes", "undecided", "clients were told none"},
		{"a lock of unknown outcome", readers, clocks(10, 0), history.Corrupted, "yes", "undecided", "clients were told none"},
		{"renewed", renewed, clocks(10, 0), history.Corrupted, "no", "undecided", "a was told at 1.000 s that it has it (a1), until 15.000 s at least; b was told at 12.000 s"},
		{"a renewal of unknown outcome", doubtful, clocks(10, 0), history.Corrupted, "yes", "undecided", "told none"},
		{"without the lease's length", late, clocks(0, 0), history.Corrupted, "undecided", "undecided", "depends on how long a lease lasts, which nothing tells (--ttl)"},
		{"without the skew", late, clocks(10, -1), history.Undecided, "undecided", "undecided", "only the order within a client's account counts"},
		{"with much skew", late, clocks(10, 30), history.Undecided, "yes", "undecided", "told none"},
		{"by tokens", incident{grant, [2]fence.Token{5, 6}, late.asks, late.told, late.writes, nil}, clocks(10, -1), history.Corrupted, "undecided", "undecided", "only the order within"},
		{"by tokens that fall", incident{grant, [2]fence.Token{6, 5}, late.asks, late.told, late.writes, nil}, clocks(10, 0), history.Corrupted, "yes", "no", "a was told the token 6 at 1.000 s; b was told the token 5 at 12.000 s"},
		{"by a token that was told twice", incident{grant, [2]fence.Token{5, 5}, late.asks, late.told, late.writes, nil}, clocks(10, -1), history.Undecided, "undecided", "no", "the token 5"},
		{"in turn", incident{none, [2]fence.Token{}, [2]int{0, 0}, [2]int{1, 4}, [2]int{2, 5}, []history.Event{unlock}}, clocks(10, 0), history.Safe, "yes", "undecided", "told none"},
		{"killed", incident{none, [2]fence.Token{}, [2]int{0, 0}, [2]int{1, 4}, [2]int{2, 5}, []history.Event{{At: 3 * time.Second, Lane: "a", Kind: history.KindKill}}}, clocks(10, 0), history.Safe, "yes", "undecided", "told none"},
		{"told that it is over", incident{none, [2]fence.Token{}, [2]int{0, 0}, [2]int{1, 4}, [2]int{2, 5}, []history.Event{{At: 3 * time.Second, Lane: "a", Kind: history.KindLost, Tenure: "a1"}}}, clocks(10, 0), history.Safe, "yes", "undecided", "told none"},
		{"asked again after an attempt of unknown outcome", incident{none, [2]fence.Token{}, [2]int{20, 25}, [2]int{21, 26}, [2]int{22, 27}, []history.Event{
			{Lane: "a", Kind: history.KindInvoke, Op: history.OpLock, Scope: "l"},
			{At: 2 * time.Second, Lane: "a", Kind: history.KindUnknown, Op: history.OpLock, Scope: "l"},
		}}, clocks(10, 0), history.Safe, "yes", "undecided", "told none"},
		{"an unlock of an older tenure", incident{none, [2]fence.Token{}, [2]int{12, 15}, [2]int{13, 16}, [2]int{14, 17}, []history.Event{
			{Lane: "a", Kind: history.KindInvoke, Op: history.OpLock, Scope: "l"},
			{At: time.Second, Lane: "a", Kind: history.KindOK, Op: history.OpLock, Scope: "l", Tenure: "a0"},
			{At: 14 * time.Second, Lane: "a", Kind: history.KindInvoke, Op: history.OpUnlock, Scope: "l", Tenure: "a0"},
		}}, clocks(10, 0), history.Safe, "yes", "undecided", "told none"},
		{"in turn, of leases that may be over", incident{none, [2]fence.Token{}, [2]int{0, 0}, [2]int{1, 4}, [2]int{2, 5}, []history.Event{unlock}}, clocks(0, 0), history.Undecided, "yes", "undecided", "told none"},
		{"both at once", incident{none, [2]fence.Token{}, [2]int{0, 2}, [2]int{1, 3}, [2]int{6, 5}, nil}, clocks(10, 0), history.Corrupted, "no", "undecided", "l was not exclusive"},
		{"in turn, at a storage whose clock is behind", incident{none, [2]fence.Token{}, [2]int{0, 15}, [2]int{1, 16}, [2]int{2, 12}, []history.Event{unlock}}, clocks(10, 5), history.Safe, "yes", "undecided", "told none"},
		{"by times, at a storage whose clock is behind", incident{none, [2]fence.Token{}, [2]int{0, 16}, [2]int{1, 17}, [2]int{14, 12}, nil}, clocks(10, 5), history.Corrupted, "yes", "undecided", "told none"},
		{"an answer that comes after the lease", incident{none, [2]fence.Token{}, [2]int{0, 11}, [2]int{20, 12}, [2]int{21, 13}, nil}, clocks(10, 0), history.Corrupted, "yes", "undecided", "told none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			events := tt.of.events()
			if !judge.Unserved(events) {
				t.Fatal("it is not seen that the service tells nothing")
			}
			j, err := judge.ByClients(events, tt.clocks)
			if err != nil {
				t.Fatal(err)
			}
			if j.Name != tt.verdict || j.Clients.Exclusive != tt.exclusive || j.Clients.Ordered != tt.ordered {
				t.Errorf("got %s, exclusive %s, ordered %s", j.Name, j.Clients.Exclusive, j.Clients.Ordered)
			}
			if reasons := strings.Join(j.Clients.Reasons, "\n"); !strings.Contains(reasons, tt.says) {
				t.Errorf("no %q in %s", tt.says, reasons)
			}
			for _, v := range append(j.Violations, j.Undecided...) {
				if events[v.Event].Kind != history.KindApplied || events[v.Before].Kind != history.KindApplied {
					t.Errorf("%s is said of the lines %d and %d", v.Text, v.Before+1, v.Event+1)
				}
			}
		})
	}
}

// TestByClientsLeavesOpen: what is harm in one order of tenures only, or only while both last, is neither said nor passed over.
func TestByClientsLeavesOpen(t *testing.T) {
	late := incident{history.ShowsNone, [2]fence.Token{}, [2]int{0, 11}, [2]int{1, 12}, [2]int{13, 14}, nil}
	half := late.events()
	half[0].Run.Together = [][]string{{"k", "m"}}
	otherLock := late.events()
	for i, e := range half {
		if e.Lane == "b" && e.Op == history.OpWrite {
			half[i].Op, half[i].Value = history.OpRead, ""
		}
		if e.Lane == history.LaneStorage && e.Value == "b" {
			half[i].Op, half[i].Value = history.OpRead, "a"
		}
		if e.Lane == "b" || e.Value == "b" {
			otherLock[i].Scope = "m"
		}
	}
	for name, tt := range map[string]struct {
		events []history.Event
		skew   time.Duration
		want   string
	}{
		"half of a change": {half, 0, history.Corrupted}, "half of a change, in an order that is not known": {half, -1, history.Undecided},
		"two locks": {otherLock, 0, history.Undecided}, "nothing": {late.events(), 0, history.Safe},
	} {
		j, err := judge.ByClients(tt.events, judge.Clocks{TTL: 10 * time.Second, Skew: tt.skew})
		if err != nil || j.Name != tt.want {
			t.Errorf("%s: got %s (%v, %v, %v), want %s", name, j.Name, j.Violations, j.Undecided, err, tt.want)
		}
	}
}

// TestByClientsCannotBeJudged: lines are those of the file, not of what was filled in.
func TestByClientsCannotBeJudged(t *testing.T) {
	events := incident{history.ShowsNone, [2]fence.Token{}, [2]int{0, 11}, [2]int{1, 12}, [2]int{14, 13}, nil}.events()
	last := len(events) - 2
	events[last].Request = "nobody's"
	_, err := judge.ByClients(events, judge.Clocks{})
	var invalid *history.InvalidError
	if !errors.As(err, &invalid) || invalid.Problems[0].Line != last+1 {
		t.Errorf("got %v, want line %d", err, last+1)
	}
}

// TestUnserved: with a line of the lock service its account is there, and without clients' locks none is missing.
func TestUnserved(t *testing.T) {
	events := incident{history.ShowsNone, [2]fence.Token{}, [2]int{0, 11}, [2]int{1, 12}, [2]int{14, 13}, nil}.events()
	for _, e := range []history.Event{{Kind: history.KindGranted}, {Kind: history.KindQueued}, {Kind: history.KindEnded}} {
		if judge.Unserved(append([]history.Event{e}, events...)) {
			t.Errorf("with %s the account is missing", e.Kind)
		}
	}
	if judge.Unserved(events[:2]) {
		t.Error("nobody was told of a lock, and the account is missing")
	}
}

// TestLocks: the lock service's account changes nothing. A lease that lasts until its client is told ends by no TTL.
func TestLocks(t *testing.T) {
	const none = history.ShowsNone
	granted := history.Event{Lane: "locks", Kind: history.KindGranted, Client: "a", Tenure: "a1", Scope: "l"}
	both := incident{none, [2]fence.Token{}, [2]int{0, 2}, [2]int{1, 3}, [2]int{4, 5}, []history.Event{granted}}.events()
	later := incident{none, [2]fence.Token{}, [2]int{0, 20}, [2]int{1, 21}, [2]int{2, 22}, []history.Event{granted}}.events()
	for name, tt := range map[string]struct {
		events []history.Event
		ttl    time.Duration
		want   lockmodel.Answer
	}{
		"both at once": {both, 10 * time.Second, lockmodel.No}, "after the lease": {later, 10 * time.Second, lockmodel.Yes},
		"after the lease, and nobody was told": {later, judge.UntilTold, lockmodel.No},
	} {
		if a := judge.Locks(tt.events, judge.Clocks{TTL: tt.ttl}); a.Exclusive != tt.want {
			t.Errorf("%s: %s, want %s: %v", name, a.Exclusive, tt.want, a.Reasons)
		}
	}
}
