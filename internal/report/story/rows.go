package story

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/pkg/fence"
)

// Leg says how much of a message's way a row shows.
type Leg int

// The legs. A request that is not answered at once has a row where it leaves, and one where it arrives.
const (
	Whole Leg = iota
	Sent
	Arrived
)

type State int

const (
	Running State = iota
	Paused
	Dead
)

// Lane is one actor as it is just after a row.
type Lane struct {
	Name   string
	State  State
	Since  time.Duration // when it was paused or killed
	Tenure int           // which tenure it holds by the lock service's account, the last of several, from 1; 0: none

	Believes bool // by its own account it holds a lock
}

// Mistaken reports whether a lane believes that it holds a lock, and holds none.
func (l Lane) Mistaken() bool { return l.Believes && l.Tenure == 0 }

// Index is the place of the lane of that name; -1: there is none.
func Index(lanes []Lane, name string) int {
	return slices.IndexFunc(lanes, func(l Lane) bool { return l.Name == name })
}

// Row is one step of the story: one line in the terminal, one level in the diagram.
type Row struct {
	At      time.Duration // never before the row above
	Class   Class
	Lane    string // whom it is about, and where an arrow begins; "": the run itself
	To      string // where the arrow ends; "": no arrow
	Leg     Leg
	Request string // joins the two rows of a request that is not answered at once
	Tenure  int    // whose tenure's token the arrow carries, from 1; 0: unknown
	Token   string // the token that the arrow carries, in decimal; "": none
	Text    Text
	Mark    string        // the storage's mark, in decimal, where this step changed it
	Took    time.Duration // of ClassResume: how long the lane stood still; of ClassFold: how long it all took
	Event   history.Event // what brought the row, printable
	Place   int           // of the event in the history, from 0
	Lanes   []Lane        // all lanes, in the order in which to draw them; not to be changed
}

func (r Row) Harmful() bool { return r.Class == ClassHarm || r.Class == ClassBlock }

// Stopped reports whether r shows a request that the storage refused, rightly or not.
func (r Row) Stopped() bool { return r.Event.Kind == history.KindRefused && r.To != "" }

func (r Row) Start() time.Duration {
	if r.Class == ClassFold {
		return r.At - r.Took
	}
	return r.At
}

// Builder makes rows from events as they come in.
type Builder struct {
	run      history.Run
	service  string // whose lane is drawn as that of the lock service
	lanes    []string
	requests requests
	ledger   *history.Ledger
	marks    map[string]string // by scope
	rows     []Row             // made by the call that is going on
	now      time.Duration

	events     []history.Event // all so far, printable
	place      int             // of the one that is told
	violations map[int][]history.Violation
	harmed     map[int]bool // events whose violations are drawn
}

func NewBuilder() *Builder {
	return &Builder{
		service:  history.Run{}.LockService(),
		requests: requests{named: make(map[string]*request), open: make(map[asking]*request), last: make(map[string]*request)},
		ledger:   history.NewLedger(),
		marks:    make(map[string]string), harmed: make(map[int]bool),
	}
}

// Add returns the rows that the next events bring: none where an event only opens a step or repeats what another
// account has told. The events are to be those of whole steps: what none of them answers counts as under way.
// The violations are those of the history so far, by the places of its events.
func (b *Builder) Add(events []history.Event, violations []history.Violation) []Row {
	seen := len(b.events)
	for _, e := range events {
		if e.Run != nil {
			b.service = e.Run.LockService()
		}
		b.events = append(b.events, cleanEvent(e, b.service))
	}
	b.violations = make(map[int][]history.Violation)
	for _, v := range violations {
		b.violations[v.Event] = append(b.violations[v.Event], v)
	}
	b.rows = nil
	asked := b.requests.look(b.events[seen:])
	for i, e := range b.events[seen:] {
		first := len(b.rows)
		b.place = seen + i
		b.tell(e, asked[i])
		b.harm(first)
	}
	for _, v := range violations { // that show only now at events told before
		if v.Event >= 0 && v.Event < seen && !b.harmed[v.Event] {
			b.accuse(v)
		}
	}
	return b.rows
}

// Lanes returns all lanes as they are now, in the order in which to draw them.
func (b *Builder) Lanes() []Lane {
	lanes := make([]Lane, len(b.lanes))
	for i, name := range b.lanes {
		a := b.ledger.Actor(name)
		l := Lane{Name: name, Since: a.Fault.At, Believes: a.Believes > 0}
		switch {
		case a.Paused():
			l.State = Paused
		case a.Dead():
			l.State = Dead
		}
		if n := len(a.Holds); n > 0 {
			l.Tenure = a.Holds[n-1].N
		}
		lanes[i] = l
	}
	return lanes
}

// Run returns what is run, printable; zero before its event.
func (b *Builder) Run() history.Run { return b.run }

func (b *Builder) tell(e history.Event, r *request) {
	before := b.ledger.Actor(e.Lane).Fault
	b.ledger.Take(e)
	if e.Kind == history.KindRun {
		b.run = CleanRun(*cmp.Or(e.Run, &history.Run{}))
		for _, l := range b.run.Lanes {
			b.lane(l)
		}
		return
	}
	b.lane(e.Lane)
	b.now = max(b.now, e.At)
	switch e.Kind {
	case history.KindGranted:
		b.granted(e, r)
	case history.KindQueued:
		b.queued(e, r)
	case history.KindEnded:
		b.ended(e, r)
	case history.KindApplied, history.KindRefused, history.KindDuplicate, history.KindUnanswered:
		b.request(e, r)
	case history.KindFinal:
		b.add(e, Row{Class: ClassFinal, Text: append(Say("at the end:"), value(e.Key, e)...)})
	case history.KindInvoke:
		b.invoke(e, r)
	case history.KindOK, history.KindFail, history.KindUnknown:
		b.answer(e, r)
	case history.KindLost:
		b.add(e, Row{Class: ClassLost, Text: append(Say("%s is told that it lost %s", e.Lane, lock(e.Scope)), token(e, "(", ")")...)})
	case history.KindPause:
		b.add(e, Row{Class: ClassPause, Text: paused(e)})
	case history.KindResume:
		if before.Kind == history.KindPause && e.Took == 0 {
			e.Took = e.At - before.At
		}
		b.add(e, Row{Class: ClassResume, Took: e.Took, Text: resumed(e)})
	case history.KindKill:
		b.add(e, Row{Class: ClassKill, Text: Say("%s", cmp.Or(e.Text, name(e.Lane)+" is killed"))})
	case history.KindRestart:
		b.add(e, Row{Class: ClassRestart, Text: Say("%s is started again", name(e.Lane))})
	case history.KindNetwork:
		b.add(e, Row{Class: ClassNetwork, Text: network(e)})
	case history.KindError:
		b.add(e, Row{Class: ClassError, Text: append(Strong("the run could not go on:"), Say("%s", e.Text)...)})
	case history.KindEnd, history.KindStarved, history.KindAwaited: // nothing happens; what follows from it, the judgement says
	case history.KindNote:
		if r != nil {
			return // the row of the request says it
		}
		b.add(e, Row{Class: ClassNote, Text: Say("%s", e.Text)})
	default:
		b.add(e, Row{Class: ClassNote, Text: Say("%s %s %s %s", Clean(string(e.Kind), MaxName), e.Op, e.Key, e.Text)})
	}
}

// add finishes a row of e: its time, its lane if it has none, how the lanes are.
func (b *Builder) add(e history.Event, r Row) {
	r.At, r.Event, r.Place = b.now, e, b.place
	r.Lane = cmp.Or(r.Lane, e.Lane)
	if !b.lane(r.Lane) {
		r.Lane = ""
	}
	if !b.lane(r.To) || r.To == r.Lane {
		r.To = ""
	}
	r.Lanes = b.Lanes()
	b.rows = append(b.rows, r)
}

// lane makes a lane, if that is missing, and reports whether there is one. The lab has one only if the run names it.
func (b *Builder) lane(name string) bool {
	switch {
	case slices.Contains(b.lanes, name):
		return true
	case name == "" || name == history.LaneLab && !slices.Contains(b.run.Lanes, name):
		return false
	}
	b.lanes = append(b.lanes, name)
	return true
}

// Details says all that is known of a row, a line each: a name, a colon, and the value.
func (r Row) Details() string {
	e := r.Event
	var b strings.Builder
	b.WriteString(r.Text.String())
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "\n%s: %s", name, value)
		}
	}
	number := func(name string, n int64) {
		if n != 0 {
			line(name, fmt.Sprint(n))
		}
	}
	if r.At > 0 { // a model's story has no time
		line("time", Clock(r.At)+" s")
	}
	if e.Lane != "" {
		line("told by", name(e.Lane))
	}
	line("client", client(e))
	line("operation", e.Op)
	line("request", Clean(e.Request, maxText))
	line("a retry of", Clean(e.RetryOf, maxText))
	line("lock", e.Scope)
	line("tenure", Clean(e.Tenure, maxText))
	number("token", int64(e.Token))
	number("mark", int64(e.Mark))
	number("sequence", e.Sequence)
	if e.Mode != fence.Exclusive {
		line("mode", e.Mode.String())
	}
	line("key", e.Key)
	line("value", e.Value)
	line("changes", pairs(e, "").String())
	line("reason", e.Reason)
	line("cause", e.Cause)
	if e.Took != 0 {
		line("took", Say("%s", Took(e.Took)).String())
	}
	number("place in the storage's order", e.Index)
	line("remark", e.Text)
	return b.String()
}

// client is the name of the client that e is about; "": it is about no client.
func client(e history.Event) string {
	switch e.Lane {
	case LaneService, history.LaneStorage, history.LaneLab:
		return e.Client
	}
	return cmp.Or(e.Client, e.Lane)
}
