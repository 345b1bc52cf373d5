package explore

import (
	"hash/maphash"
	"slices"
	"unsafe"

	"github.com/fencelab/fencelab/internal/explore/model"
)

// fingerprint stands for a state in 128 bits.
type fingerprint [2]uint64

// printer makes fingerprints of the canonical states of a world.
type printer struct {
	alike [][model.MaxClients]uint8
	seeds [2]maphash.Seed
}

func newPrinter(w *model.Settings) printer {
	return printer{w.Alike(), [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
}

// print is the same for states that differ only in the places of clients that are alike: of their fingerprints, the one
// whose first half is the least.
func (p *printer) print(s *model.State) (least fingerprint) {
	of := *s
	least[0] = maphash.Comparable(p.seeds[0], of)
	for _, to := range p.alike[1:] {
		t := s.Exchange(to)
		if half := maphash.Comparable(p.seeds[0], t); half < least[0] {
			least[0], of = half, t
		}
	}
	least[1] = maphash.Comparable(p.seeds[1], of)
	return least
}

// seen has the states that were reached, in that order: of each its fingerprint, and the step that led to it.
type seen struct {
	all   []reached
	slots []uint32 // an open-addressed table of places in all, counted from 1; 0 is free. At most half of it is used
}

type reached struct {
	print  fingerprint
	parent uint32 // place of the state before the step
	step   model.Step
}

func newSeen() *seen { return &seen{slots: make([]uint32, 1<<10)} }

// slot is where a fingerprint is in the table, or can be put.
func (s *seen) slot(p fingerprint) int {
	last := len(s.slots) - 1 // the length is a power of two
	for i := int(p[0]) & last; ; i = (i + 1) & last {
		if n := s.slots[i]; n == 0 || s.all[n-1].print == p {
			return i
		}
	}
}

func (s *seen) has(p fingerprint) bool { return s.slots[s.slot(p)] != 0 }

// add adds a state; is: it is new.
func (s *seen) add(p fingerprint, parent uint32, step model.Step) (place uint32, is bool) {
	slot := s.slot(p)
	if s.slots[slot] != 0 {
		return 0, false
	}
	if 2*len(s.all) >= len(s.slots) {
		s.slots = make([]uint32, 2*len(s.slots))
		for n, r := range s.all {
			s.slots[s.slot(r.print)] = uint32(n) + 1
		}
		slot = s.slot(p)
	}
	s.all = append(s.all, reached{p, parent, step})
	s.slots[slot] = uint32(len(s.all))
	return uint32(len(s.all)) - 1, true
}

// path are the steps that lead to a state.
func (s *seen) path(place uint32) (steps []model.Step) {
	for ; place != 0; place = s.all[place].parent {
		steps = append(steps, s.all[place].step)
	}
	slices.Reverse(steps)
	return steps
}

// bytes is how much memory it takes.
func (s *seen) bytes() int {
	return cap(s.all)*int(unsafe.Sizeof(reached{})) + cap(s.slots)*int(unsafe.Sizeof(uint32(0)))
}
