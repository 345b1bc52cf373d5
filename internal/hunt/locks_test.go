package hunt

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/tools/need"
	"github.com/fencelab/fencelab/pkg/fence"
)

// locksOf is the world of a shipped variant, of so many locks.
func locksOf(t *testing.T, name string, locks int) *World {
	t.Helper()
	w := worldOf(t, name)
	if err := w.TakeLocks(locks, true); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestTold: what clients were told of two grants of a lock whose leases last a second is held against what is promised.
func TestTold(t *testing.T) {
	const ms = time.Millisecond
	safe := Usual
	safe.UntilTold = true
	type grant struct {
		at    time.Duration
		token fence.Token
	}
	for _, tt := range []struct {
		name          string
		first, second grant
		more          []history.Event
		promised      Promises
		want          string
	}{
		{"together", grant{0, 1}, grant{500 * ms, 2}, nil, Usual, Overlap},
		{"together, and shared", grant{0, 1}, grant{500 * ms, 1}, []history.Event{{Lane: "etcd", Kind: history.KindGranted, Mode: fence.Shared}}, Usual, ""},
		{"together, and that is not promised", grant{0, 1}, grant{500 * ms, 2}, nil, Promises{}, ""},
		{"after the lease", grant{0, 1}, grant{1500 * ms, 2}, nil, Usual, ""},
		{"after the lease, and the first one was not told", grant{0, 1}, grant{1500 * ms, 2}, nil, safe, Overlap},
		{"after the lease, and the first one was told", grant{0, 1}, grant{1500 * ms, 2},
			[]history.Event{{At: 1400 * ms, Lane: "client1", Kind: history.KindLost, Scope: "/lock", Tenure: "client1-1"}}, safe, ""},
		{"after an unlock that may be a stray one", grant{0, 1}, grant{500 * ms, 2},
			[]history.Event{{At: 400 * ms, Lane: "client2", Kind: history.KindInvoke, Op: history.OpUnlock, Scope: "/lock"}}, Usual, Overlap},
		{"falling tokens", grant{0, 2}, grant{1500 * ms, 1}, nil, Usual, Disorder},
		{"falling tokens, of a lock that has none", grant{0, 2}, grant{1500 * ms, 1}, nil, Promises{Exclusive: true}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			events := tt.more
			for client, g := range map[string]grant{"client1": tt.first, "client2": tt.second} {
				events = append(events,
					history.Event{At: g.at, Lane: client, Kind: history.KindInvoke, Op: history.OpLock, Scope: "/lock"},
					history.Event{At: g.at + 10*ms, Lane: client, Kind: history.KindOK, Op: history.OpLock, Scope: "/lock", Tenure: client + "-1", Token: g.token})
			}
			history.Sort(events)
			events = append([]history.Event{{Kind: history.KindRun, Run: &history.Run{Tokens: map[string]string{"client1": history.ShowsGrant, "client2": history.ShowsGrant}}}}, events...)
			kind, text, at := locksOf(t, "etcd/01-gc-pause/fenced", 1).told(events, tt.promised)
			if kind != tt.want || kind != "" && events[at].At != tt.second.at+10*ms {
				t.Errorf("got %q (%s) by line %d, want %q, by the second grant", kind, text, at+1, tt.want)
			}
		})
	}
}

// TestNodes: a world of locks has the faults of each node that is there, with what ends them.
func TestNodes(t *testing.T) {
	for name, want := range map[string][]string{
		"etcd/01-gc-pause/fenced":         {"kill etcd1", "restart etcd1", "pause etcd1", "resume etcd1"},
		"etcd/13-leader-paused/unfenced":  {"pause leader", "resume leader", "isolate leader", "heal leader", "kill etcd3", "restart etcd3", "isolate etcd3", "heal etcd3"},
		"postgres/01-token-column/fenced": {"pause postgres1", "resume postgres1"},
		"sqlite/01-token-file/fenced":     nil,
	} {
		w := locksOf(t, name, 2)
		if own := w.Variant.Own != ""; own != (want != nil) {
			t.Errorf("%s has servers of its own: %v", name, own)
		}
		var plan []string
		for _, s := range w.plan {
			plan = append(plan, s.Text)
		}
		for _, step := range want {
			if !slices.Contains(plan, step) {
				t.Errorf("%s has no %q among %q", name, step, plan)
			}
		}
		if many := slices.ContainsFunc(plan, func(step string) bool { return strings.Contains(step, "etcd4") }); many || want == nil && plan != nil {
			t.Errorf("%s has the faults %q", name, plan)
		}
	}
}

// TestStoriesOfLocks: clients take each of the locks, work with none, and most of the story is not faults.
func TestStoriesOfLocks(t *testing.T) {
	w := locksOf(t, "etcd/01-gc-pause/fenced", 3)
	steps := tellAlone(w, 1)
	if len(steps) < lockSteps {
		t.Errorf("%d steps, want %d and more", len(steps), lockSteps)
	}
	all := strings.Join(steps, "\n")
	for _, want := range []string{"queue /lock2", "queue /lock3", "queue /lock\n", "gcsim: pause client", "gcsim: kill etcd1", "gcsim: restart etcd1"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in the story", want)
		}
	}
	for _, step := range steps {
		if strings.Contains(step, "write") || strings.Contains(step, "read") || strings.Contains(step, "storage") {
			t.Errorf("%q is no step of locks", step)
		}
	}
}

// TestStartsWhereTheServiceServes: no client is started again while its lock service stands still.
func TestStartsWhereTheServiceServes(t *testing.T) {
	w := locksOf(t, "etcd/01-gc-pause/fenced", 2)
	for seed := range uint64(50) {
		serves := true
		for _, step := range tellAlone(w, seed) {
			switch {
			case step == "gcsim: pause etcd1":
				serves = false
			case step == "gcsim: resume etcd1":
				serves = true
			case !serves && strings.HasPrefix(step, "gcsim: restart client"):
				t.Errorf("seed %d: %q while etcd1 stands still", seed, step)
			}
		}
	}
}

// brokenLocks are worlds whose locks do not keep what is promised, and how many steps the smallest known story has.
var brokenLocks = []struct {
	world, kind string
	untilTold   bool
	smallest    int
}{
	{"etcd/01-gc-pause/fenced", Overlap, true, 3},
	{"redis/03-del-successor/del", Overlap, false, 5},
}

// TestFindsBrokenLocks: a long story of random calls and faults shows it, and few of its steps are left.
func TestFindsBrokenLocks(t *testing.T) {
	need.Night(t, "to make long stories smaller")
	for _, tt := range brokenLocks {
		t.Run(tt.world, func(t *testing.T) {
			w := locksOf(t, tt.world, 1)
			w.Promises.UntilTold = tt.untilTold
			h := New(Options{Worlds: []*World{w}, Stories: 40, Side: 8, Seed: 1, Until: 1})
			h.Run(t.Context())
			r := h.Report()
			if len(r.Findings) == 0 {
				t.Fatalf("nothing was found in %d stories", r.Stories)
			}
			f := r.Findings[0]
			t.Logf("%s, after %d stories, from %d steps to %d, %d of %d times: %v", f.Kind, r.Stories, len(f.Steps), len(f.Smallest()), f.Seen, f.Again, f.Smallest())
			if f.Kind != tt.kind || len(f.Smallest()) > tt.smallest+2 || f.Seen == 0 {
				t.Errorf("%s in %d steps, %d of %d times, want %s in %d or less, again", f.Kind, len(f.Smallest()), f.Seen, f.Again, tt.kind, tt.smallest+2)
			}
			if !f.parses() {
				t.Error("it is no scenario")
			}
		})
	}
}

// TestLocksKeepTheirPromise: stories of locks that keep it show nothing.
func TestLocksKeepTheirPromise(t *testing.T) {
	stories := 4
	if need.Long() {
		stories = 60
	}
	h := New(Options{Worlds: []*World{locksOf(t, "etcd/01-gc-pause/fenced", 2), locksOf(t, "sqlite/01-token-file/fenced", 2)}, Stories: stories, Side: 8, Seed: 5, Whole: true})
	h.Run(t.Context())
	if r := h.Report(); r.Stories != stories {
		t.Errorf("%d stories were told, want %d", r.Stories, stories)
	}
	for _, f := range h.Report().Findings {
		t.Errorf("%s %s in %d of %d runs: %s %v", f.World.Name, f.Kind, f.Seen, f.Again, f.Text, f.Smallest())
	}
}
