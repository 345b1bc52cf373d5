package history

import (
	"cmp"
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
	Text string      `json:"text"`
}

// ProblemKind says what is wrong; docs/histories.md has all that is looked at.
type ProblemKind string

// The kinds of problems that lines have together. What is wrong with a line alone
// is an error of Read.
const (
	ProblemTime    ProblemKind = "time"    // at falls
	ProblemTenure  ProblemKind = "tenure"  // the accounts of a tenure do not meet
	ProblemRequest ProblemKind = "request" // those of a request do not
	ProblemIndex   ProblemKind = "index"   // the storage's order is not one
	ProblemToken   ProblemKind = "token"   // a client shows a number that is not its own
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
		fmt.Fprintf(&b, "\nline %d: %s", p.Line, p.Text)
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
	for i, e := range events {
		c.line = i + 1
		c.time(e)
		c.tenure(e)
		c.request(i, e)
		c.index(e)
		if c.run.Version >= 2 {
			c.token(e)
			c.end(e)
		}
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

	now     time.Duration
	tenures map[string]*accountOf
	asked   map[string]*asking
	told    map[clientTenure][]Event // that a client has the lock
	places  map[int64]int            // of what the storage did since its start → line
	placed  bool                     // what it did has places
	did     bool                     // it did something
}

// accountOf is a tenure by the lock service's account.
type accountOf struct {
	grant   Event  // or that it is queued for
	waiter  string // the client that stood in the queue for it
	ever    bool   // it is granted, by this line or a later one
	granted bool   // by this line
	ended   bool
}

// asking is a request by all accounts.
type asking struct {
	at       int // event
	invoke   Event
	answered bool
	did      Kind            // what the storage says of it first
	mixed    bool            // and later something else
	applied  bool            // that is among what it says, anywhere
	keys     map[string]bool // that the storage told of
}

type clientTenure struct{ client, tenure string }

// newChecker takes in what may stand anywhere in the history: where clocks step
// back an answer comes before its question.
func newChecker(events []Event) *checker {
	c := &checker{
		run: *events[0].Run, events: events,
		tenures: make(map[string]*accountOf), asked: make(map[string]*asking),
		told: make(map[clientTenure][]Event), places: make(map[int64]int),
	}
	for i, e := range events {
		if e.Kind == KindInvoke && e.Request != "" && c.asked[e.Request] == nil {
			c.asked[e.Request] = &asking{at: i, invoke: e, keys: make(map[string]bool)}
		}
	}
	for _, e := range events {
		switch e.Kind {
		case KindGranted, KindQueued:
			if c.tenures[e.Tenure] == nil {
				c.tenures[e.Tenure] = new(accountOf)
			}
			a := c.tenures[e.Tenure]
			a.grant = e
			if e.Kind == KindQueued {
				a.waiter = e.Client
			}
			a.ever = a.ever || e.Kind == KindGranted
		case KindApplied, KindRefused, KindDuplicate, KindUnanswered:
			if a := c.asked[e.Request]; a != nil {
				a.did = cmp.Or(a.did, e.Kind)
				a.applied = a.applied || e.Kind == KindApplied
			}
		case KindOK:
			if asksForLock(e.Op) {
				at := clientTenure{e.Lane, e.Tenure}
				c.told[at] = append(c.told[at], e)
			}
		}
	}
	return c
}

func (c *checker) wrong(kind ProblemKind, format string, args ...any) {
	c.wrongAt(c.line, kind, format, args...)
}

func (c *checker) wrongAt(line int, kind ProblemKind, format string, args ...any) {
	c.problems = append(c.problems, Problem{kind, line, fmt.Sprintf(format, args...)})
}

func (c *checker) time(e Event) {
	if e.At < c.now {
		c.wrong(ProblemTime, "it happened at %v, before the line above it (%v): events stand in the order in which they happened", e.At, c.now)
	}
	c.now = e.At
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

// isAnswer reports whether a client tells what became of something.
func isAnswer(k Kind) bool { return k == KindOK || k == KindFail || k == KindUnknown }
