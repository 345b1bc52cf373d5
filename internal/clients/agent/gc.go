package agent

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/kernel"
)

// stopTheWorld makes Go collect with the world stopped. It has to be there when the process starts.
const stopTheWorld = "GODEBUG=gcstoptheworld=1"

func checkStopTheWorld() error {
	if slices.Contains(strings.Split(os.Getenv("GODEBUG"), ","), strings.TrimPrefix(stopTheWorld, "GODEBUG=")) {
		return nil
	}
	return fmt.Errorf("a collection would not stop this program: start the agent with %s in its environment", stopTheWorld)
}

// node is the object that costs the collector most seconds per byte, by cache misses. In a list in random
// order the collector can neither prefetch nor share the work among threads.
type node struct{ next *node }

const (
	nodeSize  = 8        // bytes
	chunk     = 16 << 20 // bytes; a heap's first size, and its unit of growth
	maxHeap   = 3 << 29  // bytes
	loadAim   = 1.2      // of the time wanted: collections of one heap differ by some percent
	loadReach = 1.1      // is good enough
)

// Heap is memory that is slow to collect, of the process whose collections stop the client.
type Heap interface {
	// Load fills it until a collection takes so long, and says, also in words, how long one takes then.
	Load(ctx context.Context, want time.Duration) (took time.Duration, said string, err error)
	// Collect runs a collection, and says a pause and a resume of it.
	Collect(ctx context.Context, say func(history.Event)) error
}

type heap struct {
	list *node
	size int
}

// grow adds chunks up to a size, each in a random order of its own. So no processor's cache holds them.
func (h *heap) grow(ctx context.Context, size int) {
	nodes := make([]*node, chunk/nodeSize)
	for h.size < size && ctx.Err() == nil {
		for i := range nodes {
			nodes[i] = new(node)
		}
		rand.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		for _, n := range nodes {
			n.next, h.list = h.list, n
		}
		h.size += chunk
	}
}

// collect runs a collection and says when the program went on and how long it had stood still. The runtime's
// PauseNs does not count the marking, which is nearly all of it, and runtime.GC goes on to sweep, when the
// program runs again. LastGC is in between.
func collect() (end time.Time, took time.Duration) {
	start := time.Now()
	runtime.GC()
	var s debug.GCStats
	debug.ReadGCStats(&s)
	return s.LastGC, s.LastGC.Sub(start)
}

// measure is for how long a collection stops the program on a machine that has
// nothing else to do: of the time that it took here, the part in which the program
// ran. With one processor that is all of it where nobody else wants to run.
func measure() time.Duration {
	start, before := time.Now(), kernel.ProcessorTime()
	_, took := collect()
	share := float64(kernel.ProcessorTime()-before) / float64(time.Since(start))
	return time.Duration(float64(took) * min(share, 1))
}

// load fills the heap until a collection takes as long as arg says.
func (a *agent) load(ctx context.Context, arg string) error {
	want, err := time.ParseDuration(strings.TrimSpace(arg))
	if err != nil || want <= 0 {
		return fmt.Errorf("load %s: want a duration, such as 3s", arg)
	}
	took, said, err := a.Heap.Load(ctx, want)
	if err == nil {
		a.report(history.Event{Kind: history.KindNote, Took: took, Text: said})
	}
	return err
}

func (h *heap) Load(ctx context.Context, want time.Duration) (took time.Duration, said string, err error) {
	if err := checkStopTheWorld(); err != nil {
		return 0, "", err
	}
	// From here on a collection happens by command only.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(math.MaxInt64)
	runtime.GOMAXPROCS(1) // the collector has one thread of work; a second would only wait for it
	size := max(h.size, chunk)
	for ctx.Err() == nil {
		h.grow(ctx, size)
		took = measure()
		if float64(took) >= loadReach*float64(want) || size >= maxHeap {
			break
		}
		needed := loadAim * float64(want) / float64(took) * float64(size)
		size = int(min(max(needed, float64(size+chunk)), maxHeap))
	}
	said = fmt.Sprintf("a collection of %d MiB stops it for %.2f s", h.size>>20, took.Seconds())
	if took < want {
		said += fmt.Sprintf(", not for %v: this machine is too fast for that", want)
	}
	return took, said, nil
}

func (a *agent) gc(ctx context.Context, _ string) error {
	a.mu.Lock() // what is learned at the end is told after the end
	defer a.mu.Unlock()
	return a.Heap.Collect(ctx, a.print)
}

func (h *heap) Collect(_ context.Context, say func(history.Event)) error {
	if err := checkStopTheWorld(); err != nil {
		return err
	}
	say(history.Event{Kind: history.KindPause, Cause: history.CauseGC})
	end, took := collect()
	say(history.Event{Kind: history.KindResume, Cause: history.CauseGC, At: time.Duration(end.UnixNano()), Took: took})
	runtime.KeepAlive(h.list)
	return nil
}
