package hunt

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/internal/tools/need"
)

func TestMain(m *testing.M) { labtest.Services(all.List).Main(m, 1) }

var language = lab.Language(all.List)

// embedded are the lock services, with the Redis of this program.
func embedded(t *testing.T) []*service.Service {
	t.Helper()
	list := slices.Clone(all.List)
	for i, s := range list {
		if s.Name != "redis" {
			continue
		}
		at, _, err := s.At("embedded")
		if err != nil {
			t.Fatal(err)
		}
		list[i] = at
	}
	return list
}

// worldOf is the world of a shipped variant, by its service, scenario and variant.
func worldOf(t *testing.T, name string) *World {
	t.Helper()
	for _, s := range labtest.Shipped(t, language) {
		for i := range s.Variants {
			v := &s.Variants[i]
			if strings.Join([]string{v.World.Service, s.Name, v.Name}, "/") == name {
				return NewWorld(language, name, s, v, lab.Options{Exe: os.Args[0], Services: embedded(t), Shared: labtest.Share(t), Patience: 10 * time.Second})
			}
		}
	}
	t.Fatalf("there is no %s", name)
	return nil
}

// tellAlone tells a story to nobody: nothing comes of any step.
func tellAlone(w *World, seed uint64) (steps []string) {
	t := newTeller(w, rand.New(rand.NewPCG(seed, 1)))
	t.events = []history.Event{{Kind: history.KindRun}}
	for step := range forever(t) {
		steps = append(steps, step.String())
	}
	return steps
}

func forever(t *teller) func(func(scenario.Step) bool) {
	return func(yield func(scenario.Step) bool) {
		for step, more := <-t.next(); more && yield(step); step, more = <-t.next() {
		}
	}
}

// TestSameSeed: the same seed makes the same choices, another one others. Each story ends, and can end.
func TestSameSeed(t *testing.T) {
	w := worldOf(t, "etcd/01-gc-pause/fenced")
	same := 0
	for seed := range uint64(50) {
		story := tellAlone(w, seed)
		if again := tellAlone(w, seed); !slices.Equal(story, again) {
			t.Errorf("seed %d: %q, and then %q", seed, story, again)
		}
		if slices.Equal(story, tellAlone(w, seed+1)) {
			same++
		}
		telling := language.Tell(w.Scenario, w.Variant)
		for _, line := range story {
			if _, err := telling.Take(line); err != nil {
				t.Fatalf("seed %d: %v in %q", seed, err, story)
			}
		}
		if err := telling.CanEnd(); err != nil || len(story) < shortest {
			t.Errorf("seed %d: %q cannot end: %v", seed, story, err)
		}
		for client, c := range telling.Now().Clients {
			if c.Stopped != "" && c.Stopped != scenario.Killed || len(c.Cut) > 0 || c.Begun {
				t.Errorf("seed %d: %s is not healed by %q", seed, client, story)
			}
		}
	}
	if same > 0 {
		t.Errorf("%d seeds tell the story of the seed before", same)
	}
}

// TestExcused: who is cut off need not be granted a lock, and must be when that is healed.
func TestExcused(t *testing.T) {
	cut := history.Event{Lane: "client1", Kind: history.KindNetwork, Cause: history.CausePartition}
	heal := history.Event{Lane: "client1", Kind: history.KindNetwork, Cause: history.CauseHeal}
	deliver := history.Event{Lane: "client1", Kind: history.KindNetwork, Cause: history.CauseDeliver}
	stopped := history.Event{Lane: "etcd", Kind: history.KindPause}
	still := history.Event{Lane: "client1", Kind: history.KindPause}
	killed := history.Event{Lane: "client1", Kind: history.KindKill}
	granted := history.Event{Lane: "postgres", Kind: history.KindGranted, Tenure: "1", Client: "client1"}
	ended := history.Event{Lane: "postgres", Kind: history.KindEnded, Tenure: "1"}
	other := history.Event{Lane: "postgres", Kind: history.KindGranted, Tenure: "2", Client: "client2"}
	denied := history.Event{Lane: "client1", Kind: history.KindFail}
	freed := history.Event{At: time.Second, Lane: "etcd", Kind: history.KindEnded, Scope: "/lock"}
	dead := history.Event{Lane: "postgres", Kind: history.KindNote, Nodes: []history.Node{{Name: "postgres1", State: history.NodeDead}}}
	promoted := history.Event{Lane: "postgres", Kind: history.KindNote, Nodes: []history.Node{{Name: "postgres2", State: history.NodeRunning, Leads: true}}}
	leaves := func(at time.Duration, op string) history.Event {
		return history.Event{At: at, Lane: "client1", Kind: history.KindFail, Op: op, Scope: "/lock"}
	}
	for _, tt := range []struct {
		name   string
		events []history.Event
		kind   history.ViolationKind
		want   bool
	}{
		{"cut", []history.Event{cut, denied}, history.NotGranted, true},
		{"something else was delivered", []history.Event{cut, deliver, denied}, history.NotGranted, true},
		{"cut, and stopped for a while", []history.Event{cut, still, {Lane: "client1", Kind: history.KindResume}, denied}, history.NotGranted, true},
		{"healed", []history.Event{cut, heal, denied}, history.NotGranted, false},
		{"the lock service stands still", []history.Event{stopped, denied}, history.NotGranted, true},
		{"the server that leads is dead", []history.Event{dead, denied}, history.NotGranted, true},
		{"another one leads", []history.Event{dead, promoted, denied}, history.NotGranted, false},
		{"it leaves as the lock becomes free", []history.Event{freed, leaves(2*time.Second, history.OpLock)}, history.NotGranted, true},
		{"it leaves later", []history.Event{freed, leaves(5*time.Second, history.OpLock)}, history.NotGranted, false},
		{"it did not wait", []history.Event{freed, leaves(2*time.Second, history.OpTryLock)}, history.NotGranted, false},
		{"another rule", []history.Event{cut, denied}, history.Refusal, false},
		{"a lock without a lease, whose holder stands still", []history.Event{granted, still, denied}, history.Orphaned, true},
		{"a lock without a lease, whose holder is dead", []history.Event{granted, killed, denied}, history.Orphaned, false},
		{"a lock without a lease, whose holder was dead before", []history.Event{killed, granted, denied}, history.Orphaned, false},
		{"a lock without a lease, whose holder is dead behind a network that is cut", []history.Event{granted, cut, killed, denied}, history.Orphaned, true},
		{"a lock without a lease, whose holder is dead, and the network works again", []history.Event{granted, cut, killed, heal, denied}, history.Orphaned, false},
		{"a lock without a lease, whose holder is a new process", []history.Event{killed, {Lane: "client1", Kind: history.KindRestart}, granted, still, denied}, history.Orphaned, true},
		{"a lock without a lease, while another client is dead", []history.Event{granted, killed, ended, other, denied}, history.Orphaned, true},
	} {
		events := append([]history.Event{{Kind: history.KindRun, Run: &history.Run{Nodes: []history.Node{{Name: "postgres1", State: history.NodeRunning, Leads: true}}}}}, tt.events...)
		if got := (Promises{}).excuse(events, history.Violation{Kind: tt.kind, Event: len(events) - 1}); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	if !(Promises{}).excuse([]history.Event{granted, denied, killed}, history.Violation{Kind: history.Orphaned, Event: 1}) {
		t.Error("the holder died when somebody had waited too long for a lock without a lease")
	}
	if (Promises{Leased: true}).excuse([]history.Event{still}, history.Violation{Kind: history.Orphaned}) {
		t.Error("a lease that does not end is excused")
	}
}

// TestAgain: a lock that was taken twice is given back twice, and no unlock of it can begin.
func TestAgain(t *testing.T) {
	w := worldOf(t, "redis/08-reentry/raised")
	teller := newTeller(w, rand.New(rand.NewPCG(1, 1)))
	for _, step := range []struct {
		line string
		want bool
	}{
		{"client1: lock", false}, {"client1: trylock", true}, {"client1: unlock", false}, {"client1: lock within 1s", false},
	} {
		if _, err := teller.telling.Take(step.line); err != nil {
			t.Fatal(err)
		}
		if got := teller.again("client1"); got != step.want {
			t.Errorf("after %q it is %v that client1 may hold its lock twice", step.line, got)
		}
	}
}

// broken are worlds with something that is broken on purpose, and how many steps the smallest known story has.
var broken = []struct {
	world, what string
	smallest    int
}{
	{"sqlite/01-token-file/unfenced", "the storage compares nothing", 7},
	{"redis/03-del-successor/del", "an unlock compares nothing", 5},
	{"redis/06-renew-takes-again/set", "anybody renews", 7},
	{"redis/07-token-apart/apart", "the token is drawn after the grant", 6},
	{"redis/01-setnx-crash/two-steps", "the lease comes after the lock", 3},
	{"redis/09-token-read-again/read-again", "the token is read anew before each write", 7},
	{"etcd/05-lease-id-token/lease-id", "tokens have no order", 7},
	{"etcd/07-read-before-fence/plain-reads", "reads show no token", 7},
	{"etcd/08-storage-restart/in-memory", "the storage forgets its marks", 4},
	{"etcd/10-scope/mark-per-key", "each key has a mark of its own", 5},
	{"etcd/15-shared-session/shared-session", "two clients are one", 4},
	{"etcd/18-poisoned-token/no-bound", "a client shows any number", 6},
}

// staysTaken is one of them, in which nothing but a lock that stays taken is looked for: other harm comes sooner.
const staysTaken = "redis/01-setnx-crash/two-steps"

// TestFinds: a hunt that knows nothing of what is broken finds it, and makes the story small. The short form hunts in one
// of the worlds.
func TestFinds(t *testing.T) {
	for i, tt := range broken {
		if i > 0 && !need.Long() {
			break
		}
		t.Run(tt.world, func(t *testing.T) {
			w := worldOf(t, tt.world)
			o := Options{Worlds: []*World{w}, Stories: 400, Side: 16, Seed: 3, Until: 1}
			if tt.world == staysTaken {
				w.Promises, o.Stories = Promises{Frees: true, Leased: true}, 40
			}
			h := New(o)
			h.Run(t.Context())
			r := h.Report()
			if len(r.Findings) == 0 {
				t.Fatalf("nothing was found in %d stories: %s", r.Stories, tt.what)
			}
			f := r.Findings[0]
			t.Logf("%s, after %d stories, from %d steps to %d, %d of %d times: %v", f.Kind, r.Stories, len(f.Steps), len(f.Smallest()), f.Seen, f.Again, f.Smallest())
			if len(f.Smallest()) > tt.smallest+2 || f.Seen == 0 {
				t.Errorf("%d steps are left, want %d or less, of which the same comes again (%d of %d)", len(f.Smallest()), tt.smallest+2, f.Seen, f.Again)
			}
			text, err := f.File()
			if err != nil {
				t.Fatal(err)
			}
			s, err := language.Parse("found.yaml", "found", text)
			if err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
			if got := s.Variants[0]; got.Expect.WantedVerdict() != f.verdict() || len(got.Steps) != len(f.Smallest()) {
				t.Errorf("the file wants %s of %d steps:\n%s", got.Expect.Verdict, len(got.Steps), text)
			}
			if f.Known(labtest.Shipped(t, language)) == nil {
				t.Errorf("%s is known nowhere", f.Kind)
			}
		})
	}
}

// TestFindsNothing: where tokens are checked, no story of a hunt does harm.
func TestFindsNothing(t *testing.T) {
	stories := 12
	if need.Long() {
		stories = 200
	}
	h := New(Options{Worlds: []*World{worldOf(t, "sqlite/01-token-file/fenced"), worldOf(t, "etcd/01-gc-pause/fenced")}, Stories: stories, Side: 12, Seed: 1})
	h.Run(t.Context())
	r := h.Report()
	if r.Stories != stories || len(r.Coverage) == 0 {
		t.Errorf("%d stories were told, with %d faults", r.Stories, len(r.Coverage))
	}
	for _, f := range r.Findings {
		t.Errorf("%s %s in %d of %d runs: %s %v", f.World.Name, f.Kind, f.Seen, f.Again, f.Text, f.Smallest())
	}
}

// TestStopped: a hunt that is stopped ends with what there is, and tells nothing again.
func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h := New(Options{Worlds: []*World{worldOf(t, "sqlite/01-token-file/unfenced")}, Side: 8, Seed: 3})
	over := make(chan struct{})
	go func() {
		defer close(over)
		h.Run(ctx)
	}()
	for h.Report().Stories == 0 {
		select {
		case <-over:
			t.Fatal("it ended by itself")
		case <-time.After(10 * time.Millisecond): // looks again
		}
	}
	cancel()
	<-over
	for _, f := range h.Report().Findings {
		if f.Again > 0 || !f.Sure() {
			t.Errorf("%s was told again", f.Kind)
		}
	}
}

// TestGoesOn: a world that does not start ends no hunt, but several in a row do.
func TestGoesOn(t *testing.T) {
	ended := 0
	h := New(Options{})
	h.end = func() { ended++ }
	why := errors.New("no port is free")
	for range inVain - 1 {
		h.unstarted(why)
	}
	h.vain = 0 // a story was told
	for range inVain - 1 {
		h.unstarted(why)
	}
	if r := h.Report(); r.Unstarted != 2*(inVain-1) || r.Why != why || r.Err != nil || ended > 0 {
		t.Errorf("%d worlds did not start (%v): %v, ended %d times", r.Unstarted, r.Why, r.Err, ended)
	}
	if h.unstarted(why); h.Report().Err != why || ended != 1 {
		t.Errorf("after %d worlds in a row: %v, ended %d times", inVain, h.Report().Err, ended)
	}
}

// TestSlowServers: a story that starts slow servers waits until one of them is over, for each processor one is told.
func TestSlowServers(t *testing.T) {
	for range cap(slow) {
		slow <- struct{}{}
		defer func() { <-slow }()
	}
	w := &World{service: service.Named(all.List, "hazelcast"), Scenario: new(scenario.Scenario), Options: lab.Options{Services: all.List}}
	over := errors.New("the hunt is over")
	ctx, end := context.WithCancelCause(t.Context())
	end(over)
	if _, err := w.run(ctx, &scenario.Variant{Own: "it kills its members"}, w.Options); err != over {
		t.Errorf("it does not wait: %v", err)
	}
}
