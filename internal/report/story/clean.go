package story

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fencelab/fencelab/internal/history"
)

// How much of a string of a history goes into a row, in cells of a terminal.
const (
	MaxName  = 32
	maxValue = 40
	maxText  = 400
)

// Clean makes s printable, so that no value can move the cursor, reorder a line
// or break the XML; escapes show what was there. Cutting comes first: a value
// may be a megabyte, or thousands of marks that take up no cell.
func Clean(s string, width int) string {
	var b strings.Builder
	bytes := 8 * width
	for i := 0; i < len(s) && i < bytes; {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
		i += n
	}
	if clean := b.String(); len(s) <= bytes && Cells(clean) <= width {
		return clean
	}
	return Prefix(b.String(), width-1) + "…"
}

// Prose is Clean for text that was written for people, where a line break is a space.
func Prose(s string) string {
	return Clean(strings.Join(strings.Fields(s), " "), maxText)
}

// tied is prose in which no line breaks within an amount.
func tied(s string) string { return amounts.ReplaceAllString(Prose(s), "$1$3"+Tie+"$2$4") }

// amounts are numbers with their units, and tokens with their numbers.
var amounts = regexp.MustCompile(`\b(\d+) (s|ms)\b|\b(token|mark) (\d+)\b`)

// LaneService is how pictures call the lane of the lock service, whichever it is.
const LaneService = "lock service"

// lane makes the name of a lane printable; of is the run's lock service.
func lane(name, of string) string {
	if name == of {
		return LaneService
	}
	return Clean(name, MaxName)
}

// cleanEvent makes an event's strings printable, once for all pictures; of is the run's lock service.
func cleanEvent(e history.Event, of string) history.Event {
	for _, s := range []*string{&e.Scope, &e.Key, &e.Reason, &e.Cause, &e.Op} {
		*s = Clean(*s, MaxName)
	}
	e.Lane, e.Client = lane(e.Lane, of), lane(e.Client, of)
	e.Value = Clean(e.Value, maxValue)
	e.Changes = slices.Clone(e.Changes)
	for i, c := range e.Changes {
		e.Changes[i] = history.Change{Key: Clean(c.Key, MaxName), Value: Clean(c.Value, maxValue)}
	}
	e.Text = tied(e.Text)
	return e
}

// CleanRun makes the strings of a run that are drawn printable.
func CleanRun(run history.Run) history.Run {
	run.Title, run.Variant, run.About, run.Leases = Prose(run.Title), Clean(run.Variant, MaxName), Prose(run.About), Prose(run.Leases)
	run.Lanes = slices.Clone(run.Lanes)
	for i, l := range run.Lanes {
		run.Lanes[i] = lane(l, run.LockService())
	}
	return run
}

func (o Outcome) Clean() Outcome {
	o.Name, o.Trouble, o.Facts.Reason = Clean(o.Name, MaxName), tied(o.Trouble), tied(o.Facts.Reason)
	return o.Mapped(tied)
}

// Mapped returns o with f applied to the texts of its violations, mismatches and reasons.
func (o Outcome) Mapped(f func(string) string) Outcome {
	o.Violations, o.Mismatches = slices.Clone(o.Violations), slices.Clone(o.Mismatches)
	for i := range o.Violations {
		o.Violations[i].Text = f(o.Violations[i].Text)
	}
	for i := range o.Mismatches {
		o.Mismatches[i] = f(o.Mismatches[i])
	}
	if o.Facts.Clients != nil {
		clients := *o.Facts.Clients
		clients.Reasons = slices.Clone(clients.Reasons)
		for i := range clients.Reasons {
			clients.Reasons[i] = f(clients.Reasons[i])
		}
		o.Facts.Clients = &clients
	}
	return o
}
