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

// Draw writes an HTML page that shows those scopes of a history that are not
// linearizable, with the longest orders that were found; all where there is
// none. It looks for them again, within a time.
func Draw(w io.Writer, history []Op, faults []Fault, within time.Duration) error {
	var parts, wrong []porcupine.Operation
	for _, part := range byScope(operations(history)) {
		parts = append(parts, part...)
		if porcupine.CheckOperationsTimeout(model, part, within) != porcupine.Ok {
			wrong = append(wrong, part...)
		}
	}
	if wrong == nil {
		wrong = parts
	}
	_, info := porcupine.CheckOperationsVerbose(model, wrong, within)
	var notes []porcupine.Annotation
	for _, f := range faults {
		notes = append(notes, porcupine.Annotation{Tag: "faults", Start: f.Start, End: f.End, Description: f.Name})
	}
	info.AddAnnotations(notes)
	return porcupine.Visualize(model, info, w)
}
