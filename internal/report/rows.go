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
	ClassRefuse  Class = "refuse"  // the storage refused
	ClassCorrupt Class = "corrupt" // the storage applied an overtaken tenure's write
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
	Lanes   []Lane        // all lanes, in the order in which to draw them
}

// Builder makes rows from events as they come in. The zero value is ready to
// use.
type Builder struct {
	run      history.Run
	lanes    []Lane
	requests requests
	tenures  tenures
	marks    map[string]string // by scope
	rows     []Row             // made by the call that is going on
	now      time.Duration
}

// Rows makes the rows of a whole history.
func Rows(events []history.Event) []Row {
	var b Builder
	var rows []Row
	for _, e := range events {
		rows = append(rows, b.Add(e)...)
	}
	return append(rows, b.Flush()...)
}

// Add returns the rows that e brings: none where e only opens a step or repeats
// what another account has told already.
func (b *Builder) Add(e history.Event) []Row {
	e = cleanEvent(e)
	b.rows = nil
	if e.Kind == history.KindRun {
		b.run = cleanRun(e.Run)
		for _, l := range b.run.Lanes {
			b.lane(l)
		}
		return nil
	}
	b.lane(e.Lane)
	b.overdue(e)
	b.now = max(b.now, e.At)
	b.step(e)
	return b.rows
}

// Flush returns a row for each request that is still open. Call it at the end.
func (b *Builder) Flush() []Row {
	b.rows = nil
	for _, r := range b.requests.take() {
		b.unanswered(r)
	}
	return b.rows
}

// Lanes returns all lanes as they are now, in the order in which to draw them.
func (b *Builder) Lanes() []Lane { return slices.Clone(b.lanes) }

// Run returns what is run, printable; zero before its event.
func (b *Builder) Run() history.Run { return b.run }

// step tells one event, whose lane exists and before which no row is missing.
func (b *Builder) step(e history.Event) {
	switch e.Kind {
	case history.KindGranted:
		b.granted(e)
	case history.KindQueued:
		b.queued(e)
	case history.KindEnded:
		b.ended(e)
	case history.KindApplied:
		b.applied(e)
	case history.KindRefused:
		b.refused(e)
	case history.KindFinal:
		b.final(e)
	case history.KindInvoke:
		b.revive(e.Lane)
		b.invoke(e)
	case history.KindOK, history.KindFail, history.KindUnknown:
		b.answer(e)
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
	case history.KindNote:
		b.add(e, Row{Class: ClassNote, Text: say("%s", e.Text)})
	default:
		b.add(e, Row{Class: ClassNote, Text: say("%s %s %s %s", clean(string(e.Kind), maxName), e.Op, e.Key, e.Text)})
	}
}

// add finishes a row of e: its time, its lane if it has none, how the lanes are.
func (b *Builder) add(e history.Event, r Row) {
	r.At, r.Event = b.now, e
	if r.Lane == "" {
		r.Lane = e.Lane
	}
	if !b.lane(r.Lane) {
		r.Lane = ""
	}
	if !b.lane(r.To) || r.To == r.Lane {
		r.To = ""
	}
	r.Lanes = slices.Clone(b.lanes)
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
	b.lanes = append(b.lanes, Lane{Name: name})
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

func (b *Builder) set(e history.Event, s State) {
	if l := b.find(e.Lane); l != nil {
		l.State, l.Since = s, e.At
	}
}

// revive sets a lane running that was dead: it was started again.
func (b *Builder) revive(name string) {
	if l := b.find(name); l != nil && l.State == Dead {
		l.State = Running
	}
}

func (b *Builder) resume(e history.Event) {
	if l := b.find(e.Lane); l != nil && l.State == Paused && e.Took == 0 {
		e.Took = e.At - l.Since
	}
	b.set(e, Running)
	b.add(e, Row{Class: ClassResume, Took: e.Took, Text: say("%s goes on; it stood still for %s", name(e.Lane), took(e.Took))})
}
