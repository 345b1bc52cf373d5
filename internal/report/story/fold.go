package story

import (
	"slices"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/pkg/fence"
)

// A count has thousands of steps, nearly all alike. They are told in a few rows, so that others stand out.
const (
	manyRows = 80 // more than these are folded
	atEnds   = 4  // ordinary rows that stay at the beginning and at the end
	around   = 1  // and beside each row that matters
	fewest   = 3  // fewer are not worth folding
)

// Folder folds ordinary rows, but for those at the beginning and the end, and beside rows that matter.
type Folder struct {
	fencing bool
	show    int   // how many ordinary rows are still to be shown
	pending []Row // ordinary, not shown yet
}

// NewFolder returns one for a storage that checks tokens, or does not.
func NewFolder(fencing bool) *Folder { return &Folder{fencing: fencing, show: atEnds} }

// Fold returns rows with the ordinary ones folded where there are too many.
func Fold(rows []Row, fencing bool) []Row {
	if len(rows) <= manyRows {
		return rows
	}
	f := NewFolder(fencing)
	return append(f.Add(rows), f.End()...)
}

// Add takes rows and returns those that can be shown now.
func (f *Folder) Add(rows []Row) (out []Row) {
	for _, r := range rows {
		switch {
		case !r.ordinary():
			out = append(out, f.take(around)...)
			out = append(out, r)
			f.show = max(f.show, around)
		case f.show > 0:
			if out = append(out, r); !r.counts() {
				f.show--
			}
		default:
			f.pending = append(f.pending, r)
		}
	}
	return out
}

func (f *Folder) End() []Row { return f.take(atEnds) }

// take returns the pending rows: the last keep as they are, the others as one.
func (f *Folder) take(keep int) []Row {
	rows := f.pending
	f.pending = nil
	if n := len(rows) - keep; n >= fewest {
		return slices.Insert(rows[n:], 0, f.folded(rows[:n]))
	}
	return rows
}

func (r Row) ordinary() bool {
	return r.counts() || r.Class.common && r.Leg == Whole
}

// counts reports whether r says that a count begins or is over.
func (r Row) counts() bool {
	return r.Event.Op == history.OpCount && (r.Event.Kind == history.KindInvoke || r.Event.Kind == history.KindOK)
}

func (f *Folder) folded(rows []Row) Row {
	first, last := rows[0], rows[len(rows)-1]
	r := Row{At: last.At, Class: ClassFold, Took: last.At - first.At, Lanes: last.Lanes}
	tenures := 0
	var low, high fence.Token
	verb := ""
	for _, o := range rows {
		switch o.Class {
		case ClassGrant:
			tenures++
			if t := o.Event.Token; low == 0 || t < low {
				low = t
			}
			high = max(high, o.Event.Token)
		case ClassAdmit:
			if verb = "applied"; f.fencing {
				verb = "admitted"
			}
		}
		if o.Mark != "" {
			r.Mark = o.Mark
		}
	}
	r.Text = Say("… %d ordinary steps in %s", len(rows), Took(r.Took))
	switch {
	case tenures == 1:
		r.Text = append(end(r.Text, ":"), Say("a tenure, %s", numbered("token", low))...)
	case tenures > 1 && high == 0:
		r.Text = append(end(r.Text, ":"), Say("%d tenures, no tokens", tenures)...)
	case tenures > 1:
		r.Text = append(end(r.Text, ":"), Say("%d tenures, tokens %s to %s", tenures, low, high)...)
	}
	if verb != "" {
		r.Text = append(end(r.Text, ","), Say("all %s", verb)...)
	}
	return r
}
