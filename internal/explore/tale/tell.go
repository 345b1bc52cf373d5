// Package tale tells the stories of a model in the language of scenarios, and as histories. It has no file to read, so
// that a page can tell stories, too.
package tale

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/pkg/fence"
)

// The times of a story of the model, which has none.
const (
	pace  = 100 * time.Millisecond // between two events
	bound = 10 * time.Second       // for which a lock may be held that nobody keeps
)

// World is a world of the model, and what its stories are called by.
type World struct {
	Settings model.Settings
	Names    model.Names
	Lock     string
	Run      history.Run // the story's; Tell adds what the settings say
	Blank    Blank       // how its stories are written as files
}

// Blank is the file of a scenario, without the story: its lines, before and after what is filled in.
type Blank struct {
	Head     string
	Together string // where a story writes all keys that belong together; else it is left out
	Clients  string
	Tail     string // with VERDICT in the place of the verdict
}

// File is the file of a story that was told, of which this verdict must come.
func (b Blank) File(steps []string, events []history.Event, verdict string) string {
	text := b.Head
	if events[0].Run.Together != nil {
		text += b.Together
	}
	text += b.Clients
	for _, step := range steps {
		text += "- " + step + "\n"
	}
	return text + strings.Replace(b.Tail, "VERDICT", verdict, 1)
}

// Verdict is the verdict on a story that does harm; Safe where it does none.
func Verdict(h model.Harm) string {
	switch {
	case h.Corrupts():
		return history.Corrupted
	case h != model.None:
		return history.Blocked
	}
	return history.Safe
}

// Texts are the texts of a path's steps. Where a step is written in several lines, its text has them all.
func (w *World) Texts(path []model.Step) []string {
	list := []string{}
	var state model.State
	for _, step := range path {
		list = append(list, w.Text(&state, step))
		move, _ := state.Take(&w.Settings, step)
		state = move.State
	}
	return list
}

// Text is a step that comes in a state.
func (w *World) Text(state *model.State, step model.Step) string {
	return w.Names.Text(step, state.Clients[step.Client].Asked+1)
}

// teller writes the history of a story of the model.
type teller struct {
	w      *World
	events []history.Event
	waited time.Duration // in vain, for a lock
	client []client
	places map[string]string // request → the tenure for which its client waited when it asked
	told   map[string]bool   // of these requests, and of parts of them
	holds  map[string]string // key → its value
	names  []string          // of the tenures, from the second place on
	index  int64
}

type client struct {
	queued string // the tenure for which it waits
	asked  bool   // for the lock, and was not answered
	lost   bool   // its place in the queue, and was not told
}

// Tell is a path as its steps in the language of scenarios, and as a history that can be judged and drawn.
func (w *World) Tell(path []model.Step) (steps []string, events []history.Event) {
	t := &teller{w: w, client: make([]client, len(w.Names.Clients)), places: make(map[string]string), told: make(map[string]bool), holds: make(map[string]string), names: []string{""}}
	run := w.Run
	run.Version, run.Service, run.Fencing = history.Version, w.Names.Service, w.Settings.Fence != model.FenceOff
	run.Together = nil
	run.Sessions, run.Bounds = make(map[string]string), make(map[string]time.Duration)
	for i, name := range w.Names.Clients {
		run.Bounds[name] = bound
		if owner := w.Settings.Clients[i].Session; owner != i {
			run.Sessions[name] = w.Names.Clients[owner]
		}
	}
	run.Lanes = append(append([]string{run.LockService()}, w.Names.Clients...), history.LaneStorage)
	t.add(history.Event{Lane: history.LaneLab, Kind: history.KindRun, Run: &run})
	var state model.State
	for _, step := range path {
		c, before := &t.client[step.Client], state.Clients[step.Client].Asked
		text := w.Names.Text(step, before+1)
		steps = append(steps, strings.Split(text, "\n")...)
		var log model.Log
		m, ok := state.Tell(&w.Settings, step, &log)
		if !ok {
			panic(fmt.Sprintf("%q cannot come", text))
		}
		if asked := m.State.Clients[step.Client].Asked; asked != before {
			t.places[t.id(step.Client, asked)] = c.queued
		}
		t.remark(text)
		t.step(step, &log, &m.State)
		switch {
		case !c.asked:
		case m.Harm == model.Orphaned:
			t.waited += 2 * bound
			t.refuse(int(step.Client), "")
		case step.Verb == model.LockWithin:
			t.refuse(int(step.Client), "")
		}
		state = m.State
	}
	if state.WritesAll(&w.Settings) {
		run.Together = w.Run.Together
	}
	for _, key := range w.Names.Keys {
		value, is := t.holds[key]
		t.add(history.Event{Lane: history.LaneStorage, Kind: history.KindFinal, Key: key, Value: value, Missing: !is})
	}
	t.add(history.Event{Lane: history.LaneLab, Kind: history.KindEnd})
	return steps, t.events
}

func (t *teller) add(e history.Event) {
	e.At = time.Duration(len(t.events))*pace + t.waited
	t.events = append(t.events, e)
}

// faults are what steps without an answer are in a history. Those without a lane are of the step's client.
var faults = map[model.Verb]history.Event{
	model.PauseClient:       {Kind: history.KindPause, Cause: history.CauseStop},
	model.ResumeClient:      {Kind: history.KindResume, Cause: history.CauseStop},
	model.KillClient:        {Kind: history.KindKill},
	model.RestartClient:     {Kind: history.KindRestart},
	model.CutClient:         {Kind: history.KindNetwork, Cause: history.CausePartition},
	model.DeafenClient:      {Kind: history.KindNetwork, Cause: history.CauseDeafen},
	model.HealClient:        {Kind: history.KindNetwork, Cause: history.CauseHeal},
	model.DelayClient:       {Kind: history.KindNetwork, Cause: history.CauseDelay},
	model.DeliverClient:     {Kind: history.KindNetwork, Cause: history.CauseDeliver},
	model.KillTheStorage:    {Kind: history.KindKill, Lane: history.LaneStorage},
	model.RestartTheStorage: {Kind: history.KindRestart, Lane: history.LaneStorage},
}

// step tells of a step: of what its client asks, or of the fault, and of what comes of that.
func (t *teller) step(step model.Step, log *model.Log, after *model.State) {
	i, got := int(step.Client), false
	t.begin(step)
	for _, e := range log.Entries {
		t.entry(step, e)
		got = got || e.What == model.Told
	}
	switch {
	case step.Verb == model.TryLock && !got:
		t.add(t.ofLock(i, history.KindFail, history.OpTryLock))
	case step.Verb == model.TerminateClient:
		t.fault(i, faults[model.KillClient])
	}
	t.wake(after)
}

func (t *teller) begin(step model.Step) {
	c := &t.client[step.Client]
	switch step.Verb {
	case model.RestartTheStorage:
		t.index = 0
		if t.w.Settings.Memory {
			clear(t.holds)
		}
	case model.Lock, model.LockWithin, model.Queue, model.BeginLock, model.TryLock:
		if !c.asked {
			t.add(t.ofLock(int(step.Client), history.KindInvoke, asked(step)))
		}
		c.asked = step.Verb != model.TryLock
	case model.KillClient, model.TerminateClient:
		c.asked, c.lost = false, false
	}
	if e, is := faults[step.Verb]; is {
		t.fault(int(step.Client), e)
	}
}

func (t *teller) fault(client int, e history.Event) {
	if e.Lane == "" {
		e.Lane, e.Client = t.w.Names.Clients[client], t.w.Names.Clients[client]
	}
	t.add(e)
}

// ofLock is what a client asks of the lock service, or is answered.
func (t *teller) ofLock(client int, kind history.Kind, op string) history.Event {
	name := t.w.Names.Clients[client]
	return history.Event{Lane: name, Client: name, Scope: t.w.Lock, Kind: kind, Op: op}
}

// asked is the op by which a client asks for the lock.
func asked(step model.Step) string {
	if step.Verb == model.TryLock {
		return history.OpTryLock
	}
	return history.OpLock
}

// come names the tenure that a client waits for, or is granted.
func (t *teller) come(client int) string {
	if t.client[client].queued == "" {
		t.client[client].queued = fmt.Sprintf("%s's at %d", t.w.Names.Clients[client], len(t.events))
	}
	return t.client[client].queued
}

// token is a number as a token.
func token(n uint8) fence.Token {
	if n == model.MaxToken {
		return math.MaxInt64
	}
	return fence.Token(n)
}

// kinds are what entries of the model's log are in a history.
var kinds = map[model.What]history.Kind{
	model.Queued: history.KindQueued, model.Granted: history.KindGranted, model.Ended: history.KindEnded, model.Told: history.KindOK,
	model.Unlocks: history.KindInvoke, model.Unlocked: history.KindOK, model.Unheard: history.KindUnknown,
}

// entry tells of one thing that came of a step.
func (t *teller) entry(step model.Step, e model.Entry) {
	c := &t.client[e.Client]
	if e.What == model.Granted {
		t.names = append(t.names, t.come(e.Client))
		c.queued = ""
	}
	says := history.Event{
		Lane: t.w.Names.Service, Kind: kinds[e.What], Client: t.w.Names.Clients[e.Client],
		Scope: t.w.Lock, Tenure: t.names[e.Tenure], Token: token(e.Token),
	}
	switch e.What {
	case model.Left:
		if !t.w.Settings.Clients[e.Client].Lingers {
			c.queued = ""
		}
		if e.Client == int(step.Client) && (step.Verb == model.Leave || step.Verb == model.LockWithin) {
			t.refuse(e.Client, "")
		}
		c.lost = c.asked
		return
	case model.Asked, model.Applied, model.WasRefused:
		t.request(e)
		return
	case model.Queued:
		says.Tenure = t.come(e.Client)
	case model.Ended:
		says.Cause = history.CauseExpired
		switch {
		case e.Released:
			says.Cause = history.CauseReleased
		case step.Verb == model.RevokeLease, step.Verb == model.RestoreService, step.Verb.OfNode():
			says.Cause = history.CauseRevoked
		}
	case model.Told:
		says.Lane, says.Op = says.Client, asked(step)
		c.asked = false
	case model.Unlocks, model.Unlocked, model.Unheard:
		if e.Tenure == 0 { // it never had the lock
			return
		}
		says.Lane, says.Op = says.Client, history.OpUnlock
	}
	t.add(says)
}

// refuse tells a client that it does not get the lock for which it asked.
func (t *teller) refuse(client int, reason string) {
	e := t.ofLock(client, history.KindFail, history.OpLock)
	e.Reason = reason
	t.add(e)
	t.client[client].asked, t.client[client].lost = false, false
}

// wake tells each client that runs that its place in the queue was lost meanwhile.
func (t *teller) wake(s *model.State) {
	for i, c := range t.client {
		if c.lost && s.Runs(i) {
			t.refuse(i, history.CauseExpired)
		}
	}
}

var ops = map[model.Verb]string{model.Read: history.OpRead, model.Write: history.OpWrite, model.Delete: history.OpDelete, model.Change: history.OpChange}

// id names a client's request.
func (t *teller) id(client, asked uint8) string {
	return fmt.Sprintf("%s-%d", t.w.Names.Clients[client], asked)
}

// request tells of a request to the storage: of what its client asks and, if it has arrived, of what the storage does
// and the client is told.
func (t *teller) request(e model.Entry) {
	asks := t.invoke(e)
	if !t.told[asks.Request] {
		t.told[asks.Request] = true
		t.add(asks)
	}
	if e.What == model.Asked {
		return
	}
	told, does := asks, history.Event{
		Lane: history.LaneStorage, Kind: history.KindApplied, Client: asks.Client, Request: asks.Request,
		Scope: t.w.Lock, Token: asks.Token, Sequence: asks.Sequence, Reason: string(e.Reason),
	}
	told.Kind, told.PartOf, told.Reason = history.KindOK, "", does.Reason
	if e.What == model.WasRefused {
		does.Kind, told.Kind = history.KindRefused, history.KindFail
	}
	if t.w.Settings.Fence != model.FenceOff {
		does.Mark = token(e.Token)
	}
	for _, part := range asks.EachKey(asks.Changes) {
		t.index++
		does.Index, does.Op, does.Key, does.Value = t.index, part.Op, part.Key, part.Value
		switch {
		case does.Kind == history.KindRefused:
		case does.Op == history.OpRead: // it finds what there is
			value, is := t.holds[does.Key]
			does.Value, does.Missing = value, !is
			told.Value, told.Missing = value, !is
		case does.Op == history.OpWrite:
			t.holds[does.Key] = does.Value
		case does.Op == history.OpDelete:
			delete(t.holds, does.Key)
		}
		t.add(does)
	}
	if !e.Request.Unheard {
		t.add(told)
	}
}

// invoke is what a client asks of the storage. One that changes key by key asks for a write of each. A request that was
// made in the queue names the tenure for which its client waited.
func (t *teller) invoke(e model.Entry) history.Event {
	r, name := e.Request, t.w.Names.Clients[e.Client]
	id, key := t.id(uint8(e.Client), r.Asked), t.w.Names.Keys[bits.TrailingZeros(e.Keys)]
	value := ""
	if r.Verb.Writes() {
		value = t.w.Names.Value(uint8(e.Client), r.Asked)
	}
	asks := history.Event{
		Lane: name, Kind: history.KindInvoke, Op: ops[r.Verb], Client: name, Tenure: cmp.Or(t.names[r.Tenure], t.places[id]), Request: id,
		Scope: t.w.Lock, Token: token(r.Token), Sequence: int64(r.Sequence), Key: key, Value: value,
	}
	if r.Verb != model.Change {
		return asks
	}
	for k, key := range t.w.Names.Keys {
		if t.w.Names.Changed&(1<<k) != 0 {
			asks.Changes = append(asks.Changes, history.Change{Key: key, Value: value})
		}
	}
	if t.w.Settings.Clients[e.Client].Singly {
		asks.Op, asks.Request, asks.PartOf = history.OpWrite, id+"-"+key, id+"-"+asks.Changes[0].Key
	} else {
		asks.Key, asks.Value = "", ""
	}
	return asks
}
