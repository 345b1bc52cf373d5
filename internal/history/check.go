package history

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Problem is why a history cannot be judged: what is wrong, and at which line,
// from 1.
type Problem struct {
	Kind ProblemKind `json:"kind"`
	Line int         `json:"line"`
	// Against is the line that Line contradicts. 0: it is wrong by itself, or for something
	// that is missing.
	Against int    `json:"against,omitempty"`
	Text    string `json:"text"`
}

// String says what is wrong, and where.
func (p Problem) String() string {
	if p.Against == 0 {
		return fmt.Sprintf("line %d: %s", p.Line, p.Text)
	}
	return fmt.Sprintf("line %d, against line %d: %s", p.Line, p.Against, p.Text)
}

// ProblemKind says what is wrong; docs/histories.md has all that is looked at.
type ProblemKind string

// The kinds of problems that lines have together. What is wrong with a line alone
// is an error of Read.
const (
	ProblemTime    ProblemKind = "time"    // at falls
	ProblemLane    ProblemKind = "lane"    // somebody tells what is another's to tell
	ProblemAccount ProblemKind = "account" // a whole account is missing
	ProblemTenure  ProblemKind = "tenure"  // the accounts of a tenure do not meet
	ProblemRequest ProblemKind = "request" // those of a request do not
	ProblemIndex   ProblemKind = "index"   // the storage's order is not one
	ProblemToken   ProblemKind = "token"   // a client shows a number that is not its own
	ProblemFinal   ProblemKind = "final"   // what a key holds at the end is not the end of it
	ProblemEnd     ProblemKind = "end"     // the history is not complete
)

// InvalidError says why a history cannot be judged.
type InvalidError struct{ Problems []Problem }

// told is how many problems an error says.
const told = 5

// Error implements error. It says the first problems, a line each.
func (e *InvalidError) Error() string {
	var b strings.Builder
	b.WriteString("the history cannot be judged:")
	for _, p := range e.Problems[:min(told, len(e.Problems))] {
		fmt.Fprintf(&b, "\n%v", p)
	}
	if more := len(e.Problems) - told; more > 0 {
		fmt.Fprintf(&b, "\nand %d more", more)
	}
	return b.String()
}

// Check says why a history cannot be judged, in the order of its lines: what is
// missing, and what the accounts say of one another that cannot be. None: it can.
func Check(events []Event) []Problem {
	c := newChecker(events)
	c.accounts()
	for i, e := range events {
		c.line = i + 1
		c.time(e)
		c.lane(e)
		c.tenure(e)
		c.final(e)
		c.request(e)
		c.index(e)
		if c.run.Version >= 2 {
			c.unnamed(e)
			c.token(e)
			c.end(e)
		}
		c.now.Take(e)
	}
	c.gaps()
	slices.SortStableFunc(c.problems, func(a, b Problem) int { return a.Line - b.Line })
	return c.problems
}

type checker struct {
	run      Run
	events   []Event
	line     int // from 1
	problems []Problem

	whole  *Ledger // of all events: where clocks step back an answer comes before its question
	now    *Ledger // of those before the line
	at     time.Duration
	askers map[string]bool                 // clients that asked for a lock, or were told of one
	names  map[clientTenure]bool           // a client names the tenure
	has    map[string]map[string]heldSince // client → lock → the tenure that it has, by its own word
	places map[int64]int                   // of what the storage did since its start → line
	placed bool                            // what it did has places
	did    bool                            // it did something
	finals map[string]int                  // key → line that tells what it holds at the end
}

type clientTenure struct{ client, tenure string }

// heldSince is a tenure that a client has, by the line by which it was told.
type heldSince struct {
	tenure string
	line   int
}

func newChecker(events []Event) *checker {
	c := &checker{
		run: *events[0].Run, events: events, whole: Fold(events), now: NewLedger(),
		askers: make(map[string]bool), names: make(map[clientTenure]bool), has: make(map[string]map[string]heldSince),
		places: make(map[int64]int), finals: make(map[string]int),
	}
	for _, e := range events {
		if isClients(e.Kind) {
			c.names[clientTenure{e.Lane, e.Tenure}] = true
			c.askers[e.Lane] = c.askers[e.Lane] || asksForLock(e.Op) || e.Op == OpCount
		}
	}
	return c
}

func (c *checker) wrong(kind ProblemKind, format string, args ...any) {
	c.contradicts(0, kind, format, args...)
}

// contradicts says that the line is wrong, as it is not what another line says.
func (c *checker) contradicts(other int, kind ProblemKind, format string, args ...any) {
	c.wrongAt(c.line, other, kind, format, args...)
}

func (c *checker) wrongAt(line, other int, kind ProblemKind, format string, args ...any) {
	c.problems = append(c.problems, Problem{kind, line, other, fmt.Sprintf(format, args...)})
}

func (c *checker) time(e Event) {
	if e.At < c.at {
		c.contradicts(c.line-1, ProblemTime, "it happened at %v, before the line above it (%v): events stand in the order in which they happened", e.At, c.at)
	}
	c.at = e.At
}

// end looks that nothing is missing at the end, and nothing comes after it.
func (c *checker) end(e Event) {
	isEnd := e.Kind == KindEnd || e.Kind == KindError
	switch last := c.line == len(c.events); {
	case last && !isEnd:
		c.wrong(ProblemEnd, "the history stops here without an end: something is missing")
	case isEnd && !last:
		c.wrong(ProblemEnd, "the history is over, and something comes after it")
	}
}

// asksStorage reports whether an operation is one on the storage.
func asksStorage(op string) bool { return op == OpChange || slices.Contains(StorageOps, op) }

func asksForLock(op string) bool { return op == OpLock || op == OpTryLock }

// isClients reports whether a kind is of what clients ask and are told.
func isClients(k Kind) bool { return k == KindInvoke || k == KindLost || isAnswer(k) }

// isAnswer reports whether a client tells what became of something.
func isAnswer(k Kind) bool { return k == KindOK || k == KindFail || k == KindUnknown }
