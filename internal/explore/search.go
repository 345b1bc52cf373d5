// Package explore tells every story of a model up to a bound, breadth first, and answers with the smallest one that
// does harm, or with the number of states in which none does.
package explore

import (
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/fencelab/fencelab/internal/explore/model"
)

// Bounds end a search.
type Bounds struct {
	From   model.State           // where the stories begin; the zero value is the beginning of the world
	Depth  int                   // steps of a story
	Memory int                   // bytes of all that is kept; 0: as many as it takes
	Want   func(model.Harm) bool // the harm that is looked for; nil: any
	Side   int                   // how many goroutines tell stories; 0: one for each CPU. The answer is the same
}

// Found is what a search comes to.
type Found struct {
	Path     []model.Step // the smallest story that does harm; nil: none was found
	Harm     model.Harm
	States   int
	Bytes    int  // that they take
	Depth    int  // all stories of so many steps were told
	Frontier int  // states of that depth
	Whole    bool // no state is left: longer stories do nothing else
	Full     bool // the memory was full before all was told
}

// Search tells the stories of a world. tell hears again and again how far it is. If ctx ends, so does the search, with
// what is known by then.
func Search(ctx context.Context, w *model.Settings, b Bounds, tell func(Found)) Found {
	x := &search{w: w, Bounds: b, printer: newPrinter(w), seen: newSeen()}
	if x.Side == 0 {
		x.Side = runtime.GOMAXPROCS(0)
	}
	start := b.From
	start.Canonical(w)
	x.seen.add(x.print(&start), 0, model.Step{})
	x.frontier, x.found.Frontier = pack(nil, node{start, 0}), 1
	for more := true; more && x.found.Depth < b.Depth && len(x.frontier) > 0; {
		more = x.level(ctx, tell)
	}
	x.found.Whole = len(x.frontier) == 0
	return x.found
}

type search struct {
	Bounds
	printer
	w        *model.Settings
	seen     *seen
	frontier []byte // the states of the last level, packed
	found    Found
}

// blockSize is how many states of a level are told side by side, before what came of them is merged.
const blockSize = 1 << 10

// level tells the stories of one more step; more: the search can go on. What came of a block is merged in its order,
// so that the answer does not depend on who was first.
func (x *search) level(ctx context.Context, tell func(Found)) (more bool) {
	var next []byte
	states := 0 // in next
	count := func() {
		x.found.States, x.found.Bytes = len(x.seen.all), max(x.found.Bytes, x.seen.bytes()+cap(x.frontier)+cap(next))
	}
	for rest := x.frontier; len(rest) > 0; {
		var block []node
		for len(block) < blockSize && len(rest) > 0 {
			var one node
			one, rest = unpack(rest)
			block = append(block, one)
		}
		for _, list := range x.expand(block) {
			for _, n := range list {
				if n.harm != model.None {
					x.found.Path, x.found.Harm = append(x.seen.path(n.place), n.step), n.harm
					x.found.Depth++
					count()
					return false
				}
				if place, is := x.seen.add(n.print, n.place, n.step); is {
					next = pack(next, node{n.state, place})
					states++
				}
			}
		}
		count()
		x.found.Full = x.Memory > 0 && x.found.Bytes > x.Memory
		tell(x.found)
		if x.found.Full || ctx.Err() != nil {
			return false
		}
	}
	x.frontier = next
	x.found.Depth, x.found.Frontier = x.found.Depth+1, states
	return true
}

// successor is a state that a step makes, of the state at a place.
type successor struct {
	node
	step  model.Step
	harm  model.Harm
	print fingerprint
}

// expand has each goroutine tell a share of the block, of which nothing is merged meanwhile.
func (x *search) expand(block []node) [][]successor {
	shares := slices.Collect(slices.Chunk(block, (len(block)+x.Side-1)/x.Side))
	lists := make([][]successor, len(shares))
	var all sync.WaitGroup
	for i, share := range shares {
		all.Go(func() { lists[i] = x.successors(share) })
	}
	all.Wait()
	return lists
}

// successors are the states that come next, but for those that were seen.
func (x *search) successors(share []node) (list []successor) {
	for _, from := range share {
		for step, m := range from.state.Next(x.w) {
			harm := m.Harm
			if x.Want != nil && !x.Want(harm) {
				harm = model.None
			}
			m.State.Canonical(x.w)
			print := x.print(&m.State)
			if harm != model.None || !x.seen.has(print) {
				list = append(list, successor{node{m.State, from.place}, step, harm, print})
			}
		}
	}
	return list
}
