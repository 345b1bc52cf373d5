// Package linear judges from the outside whether a fenced store is what it says:
// from what its clients sent and were answered, whether there is one order in
// which all of it happened at once, one operation after the other, by the laws
// of a fenced store (linearizability; Herlihy and Wing, 1990).
//
// The rule of fencing is written here a second time, on purpose, and not taken
// from package fence: a mistake in one of them shows as a difference.
//
// An operation whose outcome is unknown may have happened at any time after it
// was sent, or never. All keys of a scope must be used with that scope alone:
// each scope is judged by itself.
package linear

import (
	"io"
	"time"

	"github.com/anishathalye/porcupine"
)

type Kind string

// The kinds. A write and a delete are a batch of one.
const (
	Write  Kind = "write"
	Delete Kind = "delete"
	Batch  Kind = "batch"
	Read   Kind = "read"
	Mark   Kind = "mark"
)

// Change is one of a batch: a value for a key, or none.
type Change struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Delete bool   `json:"delete,omitempty"`
}

// Input is what a client asked for.
type Input struct {
	Name     string   `json:"name,omitempty"` // for the picture
	Kind     Kind     `json:"kind"`
	Scope    string   `json:"scope"`
	Token    int64    `json:"token,omitempty"`    // 0: none
	Sequence int64    `json:"sequence,omitempty"` // 0: none
	Shared   bool     `json:"shared,omitempty"`   // the claim is a shared one
	Key      string   `json:"key,omitempty"`      // of a read
	Changes  []Change `json:"changes,omitempty"`  // of all that change something
}

// Outcome is what became of an operation, as its client knows it.
type Outcome string

// The outcomes. What did not happen for another reason than fencing is no part of a history.
const (
	Done      Outcome = "done"
	NotFound  Outcome = "not found" // a read was done, and there was no value
	Duplicate Outcome = "duplicate"
	Stale     Outcome = "stale"
	Missing   Outcome = "missing"
	Invalid   Outcome = "invalid"
	Ahead     Outcome = "ahead"
	Unknown   Outcome = "unknown" // it may have happened, or may yet, or not
)

// Output is what a client was answered.
type Output struct {
	Outcome  Outcome `json:"outcome"`
	Value    string  `json:"value,omitempty"`    // of a read
	Token    int64   `json:"token,omitempty"`    // of a read: which wrote the value
	Bare     bool    `json:"bare,omitempty"`     // that token was not told; of a refusal as stale: the mark was not
	Mark     int64   `json:"mark,omitempty"`     // of a mark, or that was told with a refusal as stale
	Sequence int64   `json:"sequence,omitempty"` // of the mark; with a refusal 0 where it was not told
	Shared   int64   `json:"shared,omitempty"`   // of a mark: the shared one, if that is above
	Bound    int64   `json:"bound,omitempty"`    // that was told with a refusal as ahead; 0 where none was
}

// Op is one operation, in nanoseconds of one clock. The return of an unknown outcome counts for nothing.
type Op struct {
	Client int    `json:"client"`
	Input  Input  `json:"input"`
	Output Output `json:"output"`
	Call   int64  `json:"call"`
	Return int64  `json:"return"`
}

type Verdict = porcupine.CheckResult

const (
	Linearizable    = porcupine.Ok
	NotLinearizable = porcupine.Illegal
	Undecided       = porcupine.Unknown // the time was over before
)

// Check judges a history within a time; 0 means that it may take for ever.
func Check(history []Op, within time.Duration) Verdict {
	verdict := Linearizable
	for _, part := range byScope(operations(history)) {
		switch v, _ := check(part, deadline(within)); v {
		case NotLinearizable:
			return NotLinearizable
		case Undecided:
			verdict = Undecided
		}
	}
	return verdict
}

// deadline is when a time is over; zero where it may take for ever.
func deadline(within time.Duration) time.Time {
	if within == 0 {
		return time.Time{}
	}
	return time.Now().Add(within)
}

// Fault is something that was done to the store while a history was made, for the picture.
type Fault struct {
	Name       string
	Start, End int64 // on the history's clock
}

// drawn is how many operations a picture has room for, and porcupine time.
const drawn = 1000

// Draw writes an HTML page of those scopes of a history that are not linearizable, with the longest orders that
// were found; of all where there is none. Of a scope that is too large it shows the piece that is wrong. It looks
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
