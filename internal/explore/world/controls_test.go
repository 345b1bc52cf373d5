package world

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/explore"
	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/explore/tale"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/tools/golden"
)

// missed are controls whose pitfall the explorer does not find, though the model has all of their worlds, and why.
var missed = map[string]string{
	"04-between-two-writes/lease": "its client changes the keys by a write each, and those of the explorer by one change",
}

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
	list, _ := inside(t)
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
			if (f.Path == nil) != (missed[w.name] != "") {
				t.Errorf("%s: found %q, and why it is missed: %q", w.name, steps, missed[w.name])
			}
		}
	}
	controls := make(map[string]int) // of each service
	for _, v := range variants(t) {
		if v.Control {
			controls[v.World.Service]++
		}
	}
	var counts []string
	for _, c := range []struct {
		services []string
		want     int // controls that are found, at least
	}{{[]string{"etcd"}, 17}, {[]string{"redis"}, 16}, {[]string{"postgres", "mariadb", "sqlite"}, 16}} {
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
	golden.Check(t, page, withTable(t, string(before), rows, below))
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

// page has the table of what is found, and how much that is, between two comments.
const page = "../../../docs/explore.md"

// withTable is the page's text with this table, and with a line below it.
func withTable(t *testing.T, text string, rows []string, below string) string {
	t.Helper()
	const begin, end = "<!-- table -->\n", "<!-- /table -->\n"
	before, rest, is := strings.Cut(text, begin)
	_, after, ends := strings.Cut(rest, end)
	if !is || !ends {
		t.Fatalf("%s has no table", page)
	}
	table := "| lock service | control | shipped | smallest | states | seconds |\n|---|---|---|---|---|---|\n" + strings.Join(rows, "\n") + "\n\n" + below + "\n"
	return before + begin + table + end + after
}

// confirm tells the story that was found, and has its verdict confirm the model's.
func (w *World) confirm(t *testing.T, f explore.Found) (steps []string) {
	t.Helper()
	if f.Path == nil {
		return nil
	}
	w.agrees(t, f.Path, f.Harm)
	steps, _ = w.Tell(f.Path)
	return steps
}
