package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge"
	"github.com/fencelab/fencelab/internal/judge/lockmodel"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/internal/tools/need"
	"github.com/fencelab/fencelab/pkg/fence"
)

// TestAllScenarios runs every scenario in every variant, those of one lock service after the
// other's.
func TestAllScenarios(t *testing.T) {
	t.Parallel()
	need.Time(t, "to tell all scenarios")
	for _, s := range all.List {
		t.Run(s.Name, func(t *testing.T) {
			if s.Apart {
				need.Night(t, "what takes long to fetch: go run ./cmd/gcsim services get "+s.Name)
			}
			w := newWorld(t)
			out := t.TempDir()
			p := w.start("gcsim", "run", "-o", out, s.Name)
			status := p.end()
			if strings.Contains(p.output(), "nothing was run") {
				need.Missing(t, s.Name, "to run its scenarios", "go run ./cmd/gcsim services")
			}
			open := openRuns.FindAllStringSubmatch(p.output(), -1)
			if status != undecided || len(open) == 0 {
				p.want(0)
			}
			for _, run := range open {
				w.decide(run[1] + "/" + run[2])
			}
			clientsAgree(t, out)
		})
	}
}

// clientsAgree sees that what the clients of runs tell accuses no lock service of what it did not do.
func clientsAgree(t *testing.T, out string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(out, "*", "*", "history.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no histories in %s: %v", out, err)
	}
	exclusive := 0
	for _, file := range files {
		whole, err := history.Read(strings.NewReader(read(t, file)))
		if err != nil {
			t.Fatal(err)
		}
		served, err := judge.Judge(whole)
		if err != nil {
			t.Fatal(err)
		}
		told := byClients(whole)
		if !judge.Unserved(told) {
			continue // nobody got a lock
		}
		for _, skew := range []time.Duration{0, -1} {
			set, c, err := judge.Clocks{TTL: shortest(whole[0].Run.Bounds), Skew: skew}.Set(told)
			if err != nil {
				t.Errorf("%s: %v", file, err) // all clients have the machine's clock
				continue
			}
			clients, err := judge.ByClients(set, c)
			if invalid := new(history.InvalidError); errors.As(err, &invalid) {
				continue // a client names a tenure in the queue, of which only the service tells
			}
			if err != nil {
				t.Fatal(err)
			}
			name := fmt.Sprintf("%s, skew %v", strings.TrimPrefix(file, out), c.Skew)
			if served.Exclusive && clients.Clients.Exclusive == lockmodel.No || served.Ordered && clients.Clients.Ordered == lockmodel.No {
				t.Errorf("%s: by the service exclusive %v, in order %v, and by the clients %+v", name, served.Exclusive, served.Ordered, *clients.Clients)
			}
			if served.Name == history.Safe && clients.Name == history.Corrupted {
				t.Errorf("%s: it is safe, and by the clients %v", name, clients.Violations)
			}
			if clients.Clients.Exclusive == lockmodel.Yes {
				exclusive++
			}
		}
	}
	if exclusive == 0 {
		t.Errorf("by the clients none of %d runs was exclusive", len(files))
	}
}

// byClients leaves out what the lock service tells, but for which tenures are shared: clients know that of their own.
func byClients(events []history.Event) (told []history.Event) {
	modes := make(map[string]fence.Mode)
	for _, e := range events {
		switch e.Kind {
		case history.KindGranted:
			modes[e.Tenure] = e.Mode
		case history.KindEnded, history.KindQueued:
		default:
			told = append(told, e)
		}
	}
	for i, e := range told {
		if e.Kind == history.KindOK && history.AsksForLock(e.Op) {
			told[i].Mode = modes[e.Tenure]
		}
	}
	return told
}

// shortest is for how long each lease lasts at least after its client asked for the lock; 0: not known. A bound is up to
// twice the TTL, and a session can have been renewed last when some of it was over.
func shortest(bounds map[string]time.Duration) time.Duration {
	if len(bounds) == 0 {
		return 0
	}
	return (slices.Min(slices.Collect(maps.Values(bounds))) - service.Slack) / 2
}

// undecided is gcsim's status where a busy machine may have made other stories of some runs, the openRuns.
const undecided = 3

var openRuns = regexp.MustCompile(`(?m)^(\S+) (\S+): undecided$`)

// decide makes a run up to five times, until it is decided.
func (w *world) decide(run string) {
	w.t.Helper()
	for n := 1; ; n++ {
		if p := w.start("gcsim", "run", run); n == 5 || p.end() != undecided {
			p.want(0)
			return
		}
	}
}

// TestScenariosNeedTheirProtection takes the protection away, by one line in each
// file, and sees that the scenarios that are about it notice, by what they
// expect of their protected variants.
func TestScenariosNeedTheirProtection(t *testing.T) {
	t.Parallel()
	need.Time(t, "to tell stories without their protection")
	const world = "clients:\n"
	for _, tt := range []struct {
		name     string
		from, to string
		fail     []string // scenario, variant
	}{
		{"the storage checks nothing", world, "world: {storage: {fencing: off}}\n" + world, []string{
			"03-check-then-write token", "04-delayed-request fenced", "07-read-before-fence fenced-reads", "08-storage-restart durable",
			"09-delete-drops-fence kept", "10-scope mark-per-lock", "12-partition fenced", "17-late-unlock kept-session-fenced",
			"18-poisoned-token bound", "19-late-retry numbered", "22-readers-and-writers two-marks",
		}},
		{"the storage asks whether tokens differ", world, "world: {storage: {fencing: differs}}\n" + world, []string{
			"06-mixed-revisions create-revisions", "06-mixed-revisions header-revisions", "07-read-before-fence fenced-reads",
			"09-delete-drops-fence kept", "11-holder-crash batch", "14-snapshot-restore bumped",
			"22-readers-and-writers two-marks",
		}},
		{"tokens are lease IDs", "    about: tokens are create revisions\n", "    set: {clients.*.token: lease}\n", []string{
			"05-lease-id-token create-revision",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, which := range tt.fail {
				name, _, _ := strings.Cut(which, " ")
				story := read(t, "../scenarios/etcd/"+name+".yaml")
				if strings.Contains(tt.to, "differs") { // there is no such bolt engine
					story = strings.ReplaceAll(story, "engine: bolt", "engine: memory")
				}
				changed := strings.Replace(story, tt.from, tt.to, 1)
				if changed == story {
					t.Fatalf("%s has no %q", name, tt.from)
				}
				if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(changed), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			ok := runJSON(t, 1, dir)
			for _, which := range tt.fail {
				if was, ran := ok[which]; was || !ran {
					t.Errorf("%s came out as expected without its protection (it ran: %v)", which, ran)
				}
			}
		})
	}
}

// runJSON runs scenarios and says which runs, by scenario and variant, came out as
// expected.
func runJSON(t *testing.T, status int, args ...string) map[string]bool {
	t.Helper()
	p := newWorld(t).start("gcsim", slices.Concat([]string{"run", "--json"}, args)...)
	p.want(status)
	text := p.output()
	var document struct {
		Runs []struct {
			Scenario, Variant string
			OK                bool
		}
	}
	if err := json.NewDecoder(strings.NewReader(text[strings.Index(text, "{"):])).Decode(&document); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	ok := make(map[string]bool)
	for _, r := range document.Runs {
		ok[r.Scenario+" "+r.Variant] = r.OK
	}
	return ok
}
