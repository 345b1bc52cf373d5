package report

import (
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/history"
)

// Class says what kind of step a row is; pictures choose colour and shape by it.
type Class string

// The classes.
const (
	ClassGrant   Class = "grant"   // a tenure begins
	ClassQueue   Class = "queue"   // a client waits behind the holder
	ClassExpiry  Class = "expiry"  // a lease ran out, or was revoked
	ClassRelease Class = "release" // the holder let go
	ClassSend    Class = "send"    // a request that is not answered at once
	ClassAdmit   Class = "admit"   // the storage did as asked
	ClassRefuse  Class = "refuse"  // the storage refused, as it should
	ClassHarm    Class = "harm"    // what happened must not: it makes the verdict corrupted
	ClassBlock   Class = "block"   // or blocked: the holder was refused, or a free lock not granted
	ClassReply   Class = "reply"   // an answer that tells something new
	ClassFail    Class = "fail"    // a request failed, definitely
	ClassUnknown Class = "unknown" // a request may or may not have had its effect
	ClassLost    Class = "lost"    // a client was told, or found, that its tenure is over
	ClassPause   Class = "pause"
	ClassResume  Class = "resume"
	ClassKill    Class = "kill"
	ClassRestart Class = "restart"
	ClassNetwork Class = "network" // a fault of the network, or its end
	ClassFold    Class = "fold"    // many ordinary steps, told in one
	ClassFinal   Class = "final"   // what the storage holds at the end
	ClassNote    Class = "note"
	ClassError   Class = "error" // the run itself could not go on
)

// Leg says how much of a message's way a row shows.
type Leg int

// The legs. A request that is not answered at once has a row where it leaves
// and, if it ever arrives, another where it does.
const (
	Whole Leg = iota
	Sent
	Arrived
)

// State is how a lane is.
type State int

// The states of a lane.
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
	Tenure int           // which tenure it holds by the lock service's account, from 1; 0: none
}

// Row is one step of the story: one line in the terminal, one level in the
// diagram.
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

// harmful reports whether r shows a violation.
func (r Row) harmful() bool { return r.Class == ClassHarm || r.Class == ClassBlock }

// stopped reports whether r shows a request that the storage refused, rightly or not.
func (r Row) stopped() bool { return r.Event.Kind == history.KindRefused && r.To != "" }

// Builder makes rows from events as they come in. The zero value is ready to
// use.
type Builder struct {
	run      history.Run
	lanes    []Lane
	drawn    []Lane // a copy of them, for the rows since they changed; nil: none yet
	requests requests
	tenures  tenures
	marks    map[string]string // by scope
	rows     []Row             // made by the call that is going on
	now      time.Duration

	events     []history.Event // all so far, printable
	place      int             // of the one that is told
	violations map[int][]history.Violation
	harmed     map[int]bool // events whose violations are drawn
}

// Rows makes the rows of a whole history, with the violations that were found in
// it.
func Rows(events []history.Event, violations []history.Violation) []Row {
	var b Builder
	return b.Add(events, violations)
}

// Add returns the rows that the next events bring: none where an event only opens
// a step or repeats what another account has told already. The events are to be
// those of whole steps: what none of them answers counts as under way. The
// violations are those of the history so far, by the places of its events.
func (b *Builder) Add(events []history.Event, violations []history.Violation) []Row {
	if b.harmed == nil {
		b.requests, b.tenures = newRequests(), newTenures()
		b.marks, b.harmed = make(map[string]string), make(map[int]bool)
	}
	seen := len(b.events)
	for _, e := range events {
		b.events = append(b.events, cleanEvent(e))
	}
	b.violations = make(map[int][]history.Violation)
	for _, v := range violations {
		b.violations[v.Event] = append(b.violations[v.Event], v)
	}
	b.rows = nil
	of := b.requests.look(b.events[seen:])
	for i, e := range b.events[seen:] {
		from := len(b.rows)
		b.place = seen + i
		b.tell(e, of[i])
		b.harm(from)
	}
	for _, v := range violations { // that show only now at events told before
		if v.Event >= 0 && v.Event < seen && !b.harmed[v.Event] {
			b.accuse(v)
		}
	}
	return b.rows
}

// Lanes returns all lanes as they are now, in the order in which to draw them.
func (b *Builder) Lanes() []Lane { return slices.Clone(b.lanes) }

// Run returns what is run, printable; zero before its event.
func (b *Builder) Run() history.Run { return b.run }

// tell tells one event. r is the request that it is about, or nil.
func (b *Builder) tell(e history.Event, r *request) {
	if e.Kind == history.KindRun {
		b.run = cleanRun(e.Run)
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
	case history.KindApplied:
		b.applied(e, r)
	case history.KindRefused:
		b.refused(e, r)
	case history.KindDuplicate:
		b.duplicate(e, r)
	case history.KindFinal:
		b.final(e)
	case history.KindInvoke:
		b.revive(e.Lane)
		b.invoke(e, r)
	case history.KindOK, history.KindFail, history.KindUnknown:
		b.answer(e, r)
	case history.KindLost:
		b.add(e, Row{Class: ClassLost, Text: append(say("%s is told that it lost %s", e.Lane, lock(e.Scope)), token(e, "(", ")")...)})
	case history.KindPause:
		b.set(e, Paused)
		b.add(e, Row{Class: ClassPause, Text: paused(e)})
	case history.KindResume:
		b.resume(e)
	case history.KindKill:
		b.set(e, Dead)
		b.add(e, Row{Class: ClassKill, Text: say("%s is killed", name(e.Lane))})
	case history.KindRestart:
		b.set(e, Running)
		b.add(e, Row{Class: ClassRestart, Text: say("%s is started again", name(e.Lane))})
	case history.KindNetwork:
		b.add(e, Row{Class: ClassNetwork, Text: network(e)})
	case history.KindError:
		b.add(e, Row{Class: ClassError, Text: append(strong("the run could not go on:"), say("%s", e.Text)...)})
	case history.KindEnd: // nothing happens
	case history.KindNote:
		b.add(e, Row{Class: ClassNote, Text: say("%s", e.Text)})
	default:
		b.add(e, Row{Class: ClassNote, Text: say("%s %s %s %s", clean(string(e.Kind), maxName), e.Op, e.Key, e.Text)})
	}
}

// add finishes a row of e: its time, its lane if it has none, how the lanes are.
func (b *Builder) add(e history.Event, r Row) {
	r.At, r.Event, r.Place = b.now, e, b.place
	if r.Lane == "" {
		r.Lane = e.Lane
	}
	if !b.lane(r.Lane) {
		r.Lane = ""
	}
	if !b.lane(r.To) || r.To == r.Lane {
		r.To = ""
	}
	if b.drawn == nil {
		b.drawn = slices.Clone(b.lanes)
	}
	r.Lanes = b.drawn
	b.rows = append(b.rows, r)
}

// lane makes sure that there is a lane of that name. The lab has none unless
// the run asks for it: what it says is about the run.
func (b *Builder) lane(name string) bool {
	if b.find(name) != nil {
		return true
	}
	if name == "" || name == history.LaneLab && !slices.Contains(b.run.Lanes, name) {
		return false
	}
	b.lanes, b.drawn = append(b.lanes, Lane{Name: name}), nil
	return true
}

func (b *Builder) find(name string) *Lane {
	for i := range b.lanes {
		if b.lanes[i].Name == name {
			return &b.lanes[i]
		}
	}
	return nil
}

// change changes how a lane is, if there is one of that name.
func (b *Builder) change(name string, change func(*Lane)) {
	if l := b.find(name); l != nil {
		change(l)
		b.drawn = nil
	}
}

func (b *Builder) set(e history.Event, s State) {
	b.change(e.Lane, func(l *Lane) { l.State, l.Since = s, e.At })
}

// revive sets a lane running that was dead: it was started again.
func (b *Builder) revive(name string) {
	if l := b.find(name); l != nil && l.State == Dead {
		b.change(name, func(l *Lane) { l.State = Running })
	}
}

func (b *Builder) resume(e history.Event) {
	if l := b.find(e.Lane); l != nil && l.State == Paused && e.Took == 0 {
		e.Took = e.At - l.Since
	}
	b.set(e, Running)
	b.add(e, Row{Class: ClassResume, Took: e.Took, Text: say("%s goes on; it stood still for %s", name(e.Lane), took(e.Took))})
}
