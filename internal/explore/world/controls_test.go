package world

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/explore"
	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/explore/tale"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/internal/tools/golden"
)

// unsafe are variants in which tokens are checked, whose stories are safe, and whose worlds are not: the explorer finds
// what the story does not tell.
var unsafe = map[string]string{
	"03-check-then-write/token": "a client in the queue looks for its own key, finds it, and by its higher token shuts out the holder",
	"20-counting/token-apart":   "who takes its token late gets a higher one than the holder",
	"25-mixed-fleet/at-once":    "who shows no token may read, and that raises no mark",
}

// TestControlsAreFound: given a control's settings alone, without its steps, the explorer finds a story with the verdict
// of the control. Where tokens are checked, and the story is safe, it finds none.
func TestControlsAreFound(t *testing.T) {
	found := make(map[string]int) // of each service
	var rows []string
	before, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	list, outside := inside(t)
	for _, w := range list {
		want := w.variant.Expect.WantedVerdict()
		protected := want == history.Safe && w.Settings.Fence == model.FenceOn
		if !w.variant.Control && !protected {
			continue
		}
		bounds := explore.Bounds{Depth: 10, Memory: 20 << 20, Side: 1}
		if w.variant.Control {
			bounds.Want = func(h model.Harm) bool { return tale.Verdict(h) == want }
		}
		began := worked(t)
		f := explore.Search(t.Context(), &w.Settings, bounds, func(explore.Found) {})
		took := worked(t) - began
		steps := w.confirm(t, f)
		if protected && (f.Path != nil) != (unsafe[w.name] != "") {
			t.Errorf("%s is protected, and %q does harm", w.name, steps)
		}
		if w.variant.Control {
			if f.Path != nil {
				found[w.Names.Service]++
				row := fmt.Sprintf("| %s | `%s` | %d | %d | %d |", w.Names.Service, w.name, len(w.variant.Steps), len(f.Path), f.States)
				rows = append(rows, measured(before, row, fmt.Sprintf(" %.2f |", took.Seconds())))
			}
			if f.Path == nil {
				t.Errorf("%s is not found", w.name)
			}
		}
	}
	controls := maps.Clone(found) // of each service
	var missed []string
	for _, v := range outside {
		if v.Control {
			controls[v.World.Service]++
			_, why, _ := strings.Cut(v.lacks.Error(), ": ")
			missed = append(missed, fmt.Sprintf("| %s | `%s/%s` | %s |", v.World.Service, v.of.Name, v.Name, why))
		}
	}
	var counts []string
	for _, c := range []struct {
		services []string
		want     int // controls that are found, at least
	}{{[]string{"etcd"}, 21}, {[]string{"redis"}, 22}, {[]string{"postgres", "mariadb", "sqlite"}, 22}} {
		n, of, names := 0, 0, strings.Join(c.services, ", ")
		for _, service := range c.services {
			n, of = n+found[service], of+controls[service]
		}
		if n < c.want {
			t.Errorf("%d of the %d controls of %s are found, want %d", n, of, names, c.want)
		}
		counts = append(counts, fmt.Sprintf("%d of the %d controls of %s", n, of, names))
	}
	below := "It finds " + strings.Join(counts, "; ") + ". " + measured(before, "The seconds are those that one core works: ", processor(t)+".")
	text := withTable(t, string(before), "table", "| lock service | control | shipped | smallest | states | seconds |\n|---|---|---|---|---|---|", append(rows, "", below))
	golden.Check(t, page, withTable(t, text, "missed", "| lock service | control | why it is outside |\n|---|---|---|", missed))
}

// TestFaultsAreFound: where all clients are well, and renew their leases, the explorer finds the story in which the lock
// service loses the lock.
func TestFaultsAreFound(t *testing.T) {
	list, _ := inside(t)
	for name, steps := range map[string]int{
		"14-eviction/evicted": 5, "16-node-restart/at-once": 7, "17-clock-jump/jump": 6,
		"15-advisory-failover/session": 5, "13-failover/lost": 6, "14-snapshot-restore/plain": 6,
	} {
		w := byName(t, list, name)
		w.Settings.Clients, w.Settings.Faults = slices.Clone(w.Settings.Clients), w.Settings.Faults&^(model.Pause|model.Kill)
		for i := range w.Settings.Clients {
			w.Settings.Clients[i].Renews = model.RenewsAlways
		}
		f := explore.Search(t.Context(), &w.Settings, explore.Bounds{Depth: 10, Want: model.Harm.Corrupts}, func(explore.Found) {})
		if told := w.confirm(t, f); len(f.Path) != steps {
			t.Errorf("%s: %q, of %d states, want %d steps", name, told, f.States, steps)
		}
	}
}

// measured is a line of the page that ends with what differs from run to run. That stays as it is on the page, unless
// the page is written anew.
func measured(page []byte, line, now string) string {
	_, rest, is := strings.Cut(string(page), line)
	if !is || golden.Updates() {
		return line + now
	}
	end, _, _ := strings.Cut(rest, "\n")
	return line + end
}

// worked is for how long this process has had a processor, which does not depend on what else the machine does.
func worked(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// processor is the name of the machine's processor.
func processor(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`model name\s*: (.+)`).FindSubmatch(text)
	if name == nil {
		return "a processor without a name"
	}
	return string(name[1])
}

// page has the tables of what is found and what is missed, each between two comments.
const page = "../../../docs/explore.md"

// withTable is the page's text with this table, and with what is below it.
func withTable(t *testing.T, text, name, head string, rows []string) string {
	t.Helper()
	begin, end := fmt.Sprintf("<!-- %s -->\n", name), fmt.Sprintf("<!-- /%s -->\n", name)
	before, rest, is := strings.Cut(text, begin)
	_, after, ends := strings.Cut(rest, end)
	if !is || !ends {
		t.Fatalf("%s has no table %q", page, name)
	}
	return before + begin + head + "\n" + strings.Join(rows, "\n") + "\n" + end + after
}

// confirm tells the story that was found, and has its verdict confirm the model's. The story can be written as a scenario.
func (w *World) confirm(t *testing.T, f explore.Found) (steps []string) {
	t.Helper()
	if f.Path == nil {
		return nil
	}
	w.agrees(t, f.Path, f.Harm)
	steps, _ = w.Tell(f.Path)
	w.file(t, lab.Language(all.List), steps, tale.Verdict(f.Harm))
	return steps
}
