package linear

import (
	"io"
	"time"

	"github.com/anishathalye/porcupine"
)

// Fault is something that was done to the store while a history was made, for
// the picture.
type Fault struct {
	Name       string
	Start, End int64 // on the history's clock
}

// drawn is how many operations a picture has room for, and porcupine time.
const drawn = 1000

// Draw writes an HTML page that shows those scopes of a history that are not
// linearizable, with the longest orders that were found; all where there is none. Of
// a scope that is too large for a picture it shows the piece that is wrong. It looks
// for them again, within a time.
func Draw(w io.Writer, history []Op, faults []Fault, within time.Duration) error {
	all := operations(history)
	m, wrong := model, []porcupine.Operation(nil)
	for _, part := range byScope(all) {
		verdict, p := check(part, deadline(within))
		switch {
		case verdict == Linearizable:
		case len(part) <= drawn:
			wrong = append(wrong, part...)
		case wrong == nil:
			m, wrong = p.model(), p.ops
		}
	}
	if wrong == nil {
		wrong = all
	}
	_, info := porcupine.CheckOperationsVerbose(m, wrong, within)
	var notes []porcupine.Annotation
	for _, f := range faults {
		notes = append(notes, porcupine.Annotation{Tag: "faults", Start: f.Start, End: f.End, Description: f.Name})
	}
	info.AddAnnotations(notes)
	return porcupine.Visualize(m, info, w)
}
