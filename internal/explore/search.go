// Package explore tells every story of a model up to a bound, breadth first, and answers with the smallest one that
// does harm, or with the number of states in which none does.
package explore

import (
	"context"
	"hash/maphash"
	"iter"
	"slices"

	"github.com/fencelab/fencelab/internal/explore/model"
)

// Bounds end a search.
type Bounds struct {
	Depth  int // steps of a story
	States int // 0: as many as there are
	Want   func(model.Harm) bool
}

// Found is what a search comes to.
type Found struct {
	Path     []model.Step // the smallest story that does harm; nil: there is none
	Harm     model.Harm
	States   int
	Depth    int  // all stories of so many steps were told
	Frontier int  // states of that depth
	Whole    bool // no state is left: longer stories do nothing else
}

// seen has the states that were reached, by their fingerprints, in the order in which they were.
type seen struct {
	places map[print]uint32
	parent []uint32
	step   []model.Step
}

// print is a fingerprint of 128 bits.
type print [2]uint64

// Search tells the stories of a world. tell hears how far it is, after each depth. If ctx ends, so does the search, with
// what is known by then.
func Search(ctx context.Context, w *model.Settings, b Bounds, tell func(Found)) Found {
	x := explorer{w: w, alike: w.Alike(), seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	s := &seen{places: make(map[print]uint32)}
	start := w.Start()
	s.add(x.print(start), 0, model.Step{})
	frontier := []at{{start, 0}}
	found := Found{States: 1, Frontier: 1}
	for found.Depth < b.Depth && len(frontier) > 0 {
		var next []at
		for _, from := range frontier {
			for step, m := range from.state.Next(w) {
				if m.Harm != model.None && (b.Want == nil || b.Want(m.Harm)) {
					found.Path, found.Harm = append(s.path(from.place), step), m.Harm
					found.Depth++
					return found
				}
				if place, is := s.add(x.print(m.State), from.place, step); is {
					next = append(next, at{m.State, place})
				}
			}
			if b.States > 0 && len(s.parent) >= b.States || ctx.Err() != nil {
				found.States = len(s.parent)
				return found
			}
		}
		frontier = next
		found.Depth, found.States, found.Frontier = found.Depth+1, len(s.parent), len(next)
		tell(found)
	}
	found.Whole = len(frontier) == 0
	return found
}

type at struct {
	state model.State
	place uint32
}

type explorer struct {
	w     *model.Settings
	alike [][model.MaxClients]uint8
	seeds [2]maphash.Seed
}

// print is the same for states that have the same future, clients that are alike exchanged.
func (x *explorer) print(s model.State) (least print) {
	c := s.Canonical(x.w)
	for n, to := range x.alike {
		t := c
		if n > 0 {
			t = c.Exchange(to)
		}
		p := print{maphash.Comparable(x.seeds[0], t), maphash.Comparable(x.seeds[1], t)}
		if n == 0 || slices.Compare(p[:], least[:]) < 0 {
			least = p
		}
	}
	return least
}

func (s *seen) add(p print, parent uint32, step model.Step) (place uint32, is bool) {
	if _, known := s.places[p]; known {
		return 0, false
	}
	place = uint32(len(s.parent))
	s.places[p] = place
	s.parent, s.step = append(s.parent, parent), append(s.step, step)
	return place, true
}

// path are the steps that lead to a state.
func (s *seen) path(place uint32) []model.Step {
	var steps []model.Step
	for step := range s.back(place) {
		steps = append(steps, step)
	}
	slices.Reverse(steps)
	return steps
}

func (s *seen) back(place uint32) iter.Seq[model.Step] {
	return func(yield func(model.Step) bool) {
		for ; place != 0; place = s.parent[place] {
			if !yield(s.step[place]) {
				return
			}
		}
	}
}
