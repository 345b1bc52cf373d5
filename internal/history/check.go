package history

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Problem is why a history cannot be judged: what is wrong, and at which line, from 1.
type Problem struct {
	Kind ProblemKind `json:"kind"`
	Line int         `json:"line"`
	// Against is the line that Line contradicts. 0: Line is wrong alone, or something is missing.
	Against int    `json:"against,omitempty"`
	Text    string `json:"text"`
}

func (p Problem) String() string {
	if p.Against == 0 {
		return fmt.Sprintf("line %d: %s", p.Line, p.Text)
	}
	return fmt.Sprintf("line %d, against line %d: %s", p.Line, p.Against, p.Text)
}

// ProblemKind says what is wrong; docs/histories.md has all that is looked at.
type ProblemKind string

// The kinds of problems that lines have together. What is wrong with a line alone is an error of Read.
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

type InvalidError struct{ Problems []Problem }

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

// Check says why a history cannot be judged, line by line: what is missing or contradicts. None: it can.
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
	told    map[clientTenure][]Event        // that a client has the lock
	worked  map[clientTenure]bool           // a request of a client was applied under the tenure
	askers  map[string]bool                 // clients that asked for a lock, or were told of one
	names   map[clientTenure]bool           // a client names the tenure
	queued  map[clientTenure]bool           // a client stood in the queue for the tenure
	has     map[string]map[string]heldSince // client → lock → the tenure that it has, by its own word
	places  map[int64]int                   // of what the storage did since its start → line
	placed  bool                            // what it did has places
	did     bool                            // it did something
	finals  map[string]int                  // key → line that tells what it holds at the end
}

// accountOf is a tenure by the lock service's account.
type accountOf struct {
	first   Entry // that it is granted or, if it never is, queued for
	granted int   // line by which it is granted; 0: not yet
	ended   int   // line by which it is over; 0: not yet
}

// ever reports whether the tenure is granted, by this line or a later one.
func (a *accountOf) ever() bool { return a.first.Kind == KindGranted }

// asking is a request by all accounts.
type asking struct {
	invoke   Entry
	answered int            // line; 0: not yet
	told     []Entry        // all that the storage tells of it
	mixed    int            // line by which something else became of it than was told first; 0: not yet
	keys     map[string]int // that the storage told of → line
}

func (a *asking) did() Kind {
	if len(a.told) == 0 {
		return ""
	}
	return a.told[0].Kind
}

// as is what the storage tells of a request by that kind first; nil: nothing.
func (a *asking) as(kind Kind) *Entry {
	for i := range a.told {
		if a.told[i].Kind == kind {
			return &a.told[i]
		}
	}
	return nil
}

type clientTenure struct{ client, tenure string }

// heldSince is a tenure that a client has, by the line by which it was told.
type heldSince struct {
	tenure string
	line   int
}

// newChecker takes in what may stand anywhere: where clocks step back an answer precedes its question.
func newChecker(events []Event) *checker {
	c := &checker{
		run: *events[0].Run, events: events,
		tenures: make(map[string]*accountOf), asked: make(map[string]*asking),
		told: make(map[clientTenure][]Event), worked: make(map[clientTenure]bool),
		askers: make(map[string]bool), names: make(map[clientTenure]bool), queued: make(map[clientTenure]bool), has: make(map[string]map[string]heldSince),
		places: make(map[int64]int), finals: make(map[string]int),
	}
	for i, e := range events {
		if e.Kind == KindInvoke && e.Request != "" && c.asked[e.Request] == nil {
			c.asked[e.Request] = &asking{invoke: Entry{e, i + 1}, keys: make(map[string]int)}
		}
	}
	for i, e := range events {
		switch {
		case e.Kind == KindGranted || e.Kind == KindQueued:
			c.takeTenure(Entry{e, i + 1})
		case isStorage(e.Kind):
			if a := c.asked[e.Request]; a != nil {
				a.told = append(a.told, Entry{e, i + 1})
				if e.Kind == KindApplied {
					c.worked[clientTenure{a.invoke.Lane, a.invoke.Tenure}] = true
				}
			}
		case isClients(e.Kind):
			at := clientTenure{e.Lane, e.Tenure}
			c.names[at] = true
			c.askers[e.Lane] = c.askers[e.Lane] || AsksForLock(e.Op) || e.Op == OpCount
			if e.Kind == KindOK && AsksForLock(e.Op) {
				c.told[at] = append(c.told[at], e)
			}
		}
	}
	return c
}

func (c *checker) takeTenure(e Entry) {
	a := c.tenures[e.Tenure]
	if a == nil {
		a = &accountOf{first: e}
		c.tenures[e.Tenure] = a
	}
	if !a.ever() && e.Kind == KindGranted {
		a.first = e
	}
	if e.Kind == KindQueued {
		c.queued[clientTenure{e.Client, e.Tenure}] = true
	}
}

func (c *checker) wrong(kind ProblemKind, format string, args ...any) {
	c.contradicts(0, kind, format, args...)
}

// contradicts says that the line is wrong, as it is not what another line says.
func (c *checker) contradicts(other int, kind ProblemKind, format string, args ...any) {
	c.problems = append(c.problems, Problem{kind, c.line, other, fmt.Sprintf(format, args...)})
}

func (c *checker) time(e Event) {
	if e.At < c.now {
		c.contradicts(c.line-1, ProblemTime, "it happened at %v, before the line above it (%v): events stand in the order in which they happened", e.At, c.now)
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

// AsksStorage reports whether an operation is one on the storage.
func AsksStorage(op string) bool { return op == OpChange || slices.Contains(StorageOps, op) }

// AsksForLock reports whether an operation is one by which a client asks for a lock.
func AsksForLock(op string) bool { return op == OpLock || op == OpTryLock }

func isClients(k Kind) bool { return k == KindInvoke || k == KindLost || isAnswer(k) }

// isAnswer reports whether a client tells what became of something.
func isAnswer(k Kind) bool { return k == KindOK || k == KindFail || k == KindUnknown }
