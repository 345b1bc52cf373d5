// Command outages measures how long nobody gets a lock when a node of a lock service dies, and when a holder that is cut
// off is told of its loss. It tells the stories of the folders dead and cut-off some times, and writes two tables for
// docs/locks.md.
package main

import (
	"cmp"
	"embed"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/fail"
)

//go:embed dead cut-off
var stories embed.FS

func main() {
	out := flag.String("o", "internal/tools/mkdocs/outages.md", "the file to write")
	times := flag.Int("times", 5, "how often each story is told")
	flag.Parse()
	if err := fail.Caught(func() {
		dir := fail.Must(os.MkdirTemp("", "outages-"))
		defer os.RemoveAll(dir)
		build := exec.Command("go", "build", "-o", filepath.Join(dir, "gcsim"), "./cmd/gcsim")
		build.Stderr = os.Stderr
		fail.If(build.Run())
		fail.If(os.CopyFS(dir, stories))
		var b strings.Builder
		b.WriteString("Made by `go run ./internal/tools/outages`: the part of docs/locks.md about nodes that die.\n\n<!-- bench: begin -->\n")
		b.WriteString("| lock service | what happens | nobody gets a lock for, s |\n|---|---|---|\n")
		for _, runs := range tell(dir, "dead", *times) {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", runs[0].service(), runs[0].title(), spread(runs, run.outage))
		}
		b.WriteString("\n| holder | told after, s | the service ends its tenure after, s |\n|---|---|---|\n")
		for _, runs := range tell(dir, "cut-off", *times) {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", runs[0].title(), spread(runs, run.told), spread(runs, run.over))
		}
		b.WriteString("<!-- bench: end -->\n")
		fail.If(os.WriteFile(*out, []byte(b.String()), 0o666))
	}); err != nil {
		fmt.Fprintln(os.Stderr, "outages:", err)
		os.Exit(1)
	}
}

// tell tells each story of a folder so often, one run after the other, and returns the runs of each.
func tell(dir, folder string, times int) (all [][]run) {
	for _, file := range fail.Must(filepath.Glob(filepath.Join(dir, folder, "*.yaml"))) {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		out := filepath.Join(dir, "out", folder, name)
		gcsim := exec.Command(filepath.Join(dir, "gcsim"), "run", file, "--repeat", strconv.Itoa(times), "--jobs", "1", "-o", out)
		if said, err := gcsim.CombinedOutput(); err != nil {
			fail.If(fmt.Errorf("%s: %w\n%s", path.Join(folder, name), err, said))
		}
		var runs []run
		for n := range times {
			f := fail.Must(os.Open(filepath.Join(out, name, "measured", strconv.Itoa(n+1), "history.jsonl")))
			runs = append(runs, read(f))
			fail.If(f.Close())
		}
		fmt.Println(folder, name)
		all = append(all, runs)
	}
	return all
}

// run is a history of one of the stories.
type run []history.Event

func read(r io.Reader) run { return fail.Must(history.Read(r)) }

func (r run) title() string   { return r[0].Run.Title }
func (r run) service() string { return r[0].Run.LockService() }

// fault is when the first fault hit: that of a client, or what the lock service notes of a node.
func (r run) fault() time.Duration {
	faults := []history.Kind{history.KindPause, history.KindKill, history.KindNetwork}
	i := slices.IndexFunc(r, func(e history.Event) bool {
		return slices.Contains(faults, e.Kind) || e.Kind == history.KindNote && e.Lane == r.service()
	})
	if i < 0 {
		fail.If(fmt.Errorf("%s: no fault", r.title()))
	}
	return r[i].At
}

// outage is from the first fault to the next grant.
func (r run) outage() time.Duration { return r.first(history.KindGranted) }

// told is from the first fault to the client's word that it has lost the lock.
func (r run) told() time.Duration { return r.first(history.KindLost) }

// over is from the first fault to the end of the tenure.
func (r run) over() time.Duration { return r.first(history.KindEnded) }

// first is for how long after the first fault something of a kind came first.
func (r run) first(kind history.Kind) time.Duration {
	fault := r.fault()
	i := slices.IndexFunc(r, func(e history.Event) bool { return e.At >= fault && e.Kind == kind })
	if i < 0 {
		fail.If(fmt.Errorf("%s: nothing is %s", r.title(), kind))
	}
	return r[i].At - fault
}

// spread is the median of what was measured, and the extremes.
func spread(runs []run, measure func(run) time.Duration) string {
	var all []time.Duration
	for _, r := range runs {
		all = append(all, measure(r))
	}
	slices.SortFunc(all, cmp.Compare[time.Duration])
	return fmt.Sprintf("%.1f (%.1f to %.1f)", all[len(all)/2].Seconds(), all[0].Seconds(), all[len(all)-1].Seconds())
}
