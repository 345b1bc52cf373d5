package explore

import (
	"fmt"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/explore/model"
)

// BenchmarkSearch tells all stories of three clients that can be paused.
func BenchmarkSearch(b *testing.B) {
	states := 0
	for b.Loop() {
		states += Search(b.Context(), pausing(3, func(*model.Settings) {}), Bounds{Depth: 100}, func(Found) {}).States
	}
	b.ReportMetric(float64(states)/b.Elapsed().Seconds(), "states/s")
}

// BenchmarkStateright tells all stories of two clients beside Stateright, which has the same model in Rust, by turns
// and with one thread each. Of each the fastest turn counts. "make stateright" builds the other one.
func BenchmarkStateright(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	world := pausing(2, func(w *model.Settings) {
		w.Faults = model.Pause | model.Kill | model.Cut
		w.Clients[0].High = true // which no story notices, and so nobody is exchanged
	})
	ours, theirs := time.Hour, time.Hour
	for b.Loop() {
		began := time.Now()
		states := Search(b.Context(), world, Bounds{Depth: 100, Side: 1}, func(Found) {}).States
		ours = min(ours, time.Since(began))
		out, err := exec.CommandContext(b.Context(), "stateright/target/release/fencelab-stateright").CombinedOutput()
		if err != nil {
			b.Fatalf("%v: %s; \"make stateright\" builds it", err, out)
		}
		var others int
		var seconds float64
		if _, err := fmt.Sscan(string(out), &others, &seconds); err != nil || others != states {
			b.Fatalf("%d states, and by Stateright %s", states, out)
		}
		theirs = min(theirs, time.Duration(seconds*float64(time.Second)))
	}
	rate := theirs.Seconds() / ours.Seconds()
	b.ReportMetric(rate, "of-stateright")
	if rate < 0.5 {
		b.Errorf("%v, and Stateright %v: want half of its rate", ours, theirs)
	}
}
