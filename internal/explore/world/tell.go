package world

import (
	"fmt"
	"math"
	"slices"
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

// teller writes the history of a story of the model.
type teller struct {
	w      *World
	events []history.Event
	waited time.Duration // in vain, for a lock
	client []client
	asks   map[string]request // by their names
	told   map[string]bool    // of these requests, and of parts of them
	holds  map[string]string  // key → its value
	names  []string           // of the tenures, from the second place on
	index  int64
}

type client struct {
	writes int    // so far
	queued string // the tenure for which it waits
	asked  bool   // for the lock, and was not answered
	lost   bool   // its place in the queue, and was not told
}

type request struct {
	value string // that it writes
	place string // the tenure for which its client waited when it asked
}

// Tell is a path as its steps in the language of scenarios, and as a history that can be judged and drawn.
func (w *World) Tell(path []model.Step) (steps []string, events []history.Event) {
	t := &teller{w: w, client: make([]client, len(w.Names.Clients)), asks: make(map[string]request), told: make(map[string]bool), holds: make(map[string]string), names: []string{""}}
	run := history.Run{
		Version: history.Version, Scenario: w.scenario.Name, Title: w.title(), Variant: w.variant.Name, About: w.variant.About,
		Service: w.Names.Service, Fencing: w.Settings.Fence != model.FenceOff, Together: w.scenario.Together,
		Tokens: w.tokens, Sessions: make(map[string]string), Bounds: make(map[string]time.Duration),
	}
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
		c := &t.client[step.Client]
		if step.Verb.Writes() {
			c.writes++
		}
		text := w.Names.Text(step, c.writes)
		steps = append(steps, text)
		var log model.Log
		m, ok := state.Tell(&w.Settings, step, &log)
		if !ok {
			panic(fmt.Sprintf("%q cannot come", text))
		}
		if asked := m.State.Clients[step.Client].Asked; asked != state.Clients[step.Client].Asked {
			r := request{place: c.queued}
			if step.Verb.Writes() {
				r.value = w.Names.Value(step.Client, c.writes)
			}
			t.asks[t.id(step.Client, asked)] = r
		}
		t.step(step, &log, &state, &m.State)
		if m.Harm == model.Orphaned && c.asked {
			t.waited += 2 * bound
			t.refuse(int(step.Client), "")
		}
		state = m.State
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

// faults are what steps without an answer are in a history.
var faults = map[model.Verb]history.Event{
	model.PauseClient:  {Kind: history.KindPause, Cause: history.CauseStop},
	model.ResumeClient: {Kind: history.KindResume, Cause: history.CauseStop},
	model.KillClient:   {Kind: history.KindKill}, model.RestartClient: {Kind: history.KindRestart},
	model.CutClient: {Kind: history.KindNetwork, Cause: history.CausePartition}, model.DeafenClient: {Kind: history.KindNetwork, Cause: history.CauseDeafen},
	model.HealClient: {Kind: history.KindNetwork, Cause: history.CauseHeal}, model.DelayClient: {Kind: history.KindNetwork, Cause: history.CauseDelay},
	model.DeliverClient: {Kind: history.KindNetwork, Cause: history.CauseDeliver},
}

// step tells of a step: of what its client asks, or of the fault, and of what comes of that.
func (t *teller) step(step model.Step, log *model.Log, before, after *model.State) {
	name := t.w.Names.Clients[step.Client]
	t.begin(step, name)
	r := unlocks(step, before)
	unlock := history.Event{Lane: name, Client: name, Scope: t.w.Lock, Op: history.OpUnlock, Tenure: t.names[r.Tenure], Token: token(r.Token)}
	if r.Tenure != 0 {
		unlock.Kind = history.KindInvoke
		t.add(unlock)
	}
	for _, e := range log.Entries {
		t.entry(step, e)
	}
	if r.Tenure != 0 {
		unlock.Kind = history.KindOK
		if after.Clients[step.Client].Last.Verb == model.Unlock {
			unlock.Kind = history.KindUnknown
		}
		t.add(unlock)
	}
	got := func(e model.Entry) bool { return e.What == model.Told }
	switch {
	case step.Verb == model.TryLock && !slices.ContainsFunc(log.Entries, got):
		t.add(history.Event{Lane: name, Client: name, Scope: t.w.Lock, Kind: history.KindFail, Op: history.OpTryLock})
	case step.Verb == model.TerminateClient:
		t.add(history.Event{Lane: name, Client: name, Kind: history.KindKill})
	}
	t.wake(after)
}

func (t *teller) begin(step model.Step, name string) {
	c := &t.client[step.Client]
	switch step.Verb {
	case model.KillTheStorage:
		t.add(history.Event{Lane: history.LaneStorage, Kind: history.KindKill})
	case model.RestartTheStorage:
		t.add(history.Event{Lane: history.LaneStorage, Kind: history.KindRestart})
		if t.w.Settings.Memory {
			clear(t.holds)
		}
		t.index = 0
	case model.Lock, model.Queue, model.BeginLock, model.TryLock:
		if !c.asked {
			t.add(history.Event{Lane: name, Client: name, Scope: t.w.Lock, Kind: history.KindInvoke, Op: asked(step)})
		}
		c.asked = step.Verb != model.TryLock
	case model.KillClient, model.TerminateClient:
		c.asked, c.lost = false, false
	}
	if e, is := faults[step.Verb]; is {
		e.Lane, e.Client = name, name
		t.add(e)
	}
}

// asked is the op by which a client asks for the lock.
func asked(step model.Step) string {
	if step.Verb == model.TryLock {
		return history.OpTryLock
	}
	return history.OpLock
}

// unlocks is the unlock that a step does; zero: it does none.
func unlocks(step model.Step, before *model.State) (r model.Request) {
	switch c := before.Clients[step.Client]; {
	case step.Verb == model.Unlock, step.Verb == model.TerminateClient:
		return model.Request{Tenure: c.Has, Token: c.Token}
	case step.Verb == model.Finish && c.Doing.Verb == model.Unlock:
		return c.Doing
	case step.Verb == model.Retry && c.Last.Verb == model.Unlock:
		return c.Last
	}
	return r
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

func (t *teller) entry(step model.Step, e model.Entry) {
	name := t.w.Names.Clients[e.Client]
	at := history.Event{Lane: t.w.Names.Service, Client: name, Scope: t.w.Lock, Token: token(e.Token)}
	switch e.What {
	case model.Queued:
		at.Kind, at.Tenure = history.KindQueued, t.come(e.Client)
		t.add(at)
		return
	case model.Left:
		if !t.w.Settings.Clients[e.Client].Lingers {
			t.client[e.Client].queued = ""
		}
		if step.Verb == model.Leave {
			t.refuse(e.Client, "")
		}
		t.client[e.Client].lost = t.client[e.Client].asked
		return
	case model.Asked, model.Applied, model.WasRefused:
		t.request(name, e)
		return
	case model.Granted:
		at.Kind = history.KindGranted
		t.names = append(t.names, t.come(e.Client))
		t.client[e.Client].queued = ""
	case model.Ended:
		at.Kind, at.Cause = history.KindEnded, history.CauseExpired
		switch step.Verb {
		case model.Unlock, model.Finish, model.Retry, model.TerminateClient:
			at.Cause = history.CauseReleased
		case model.TryLock:
			if t.w.Settings.Clients[step.Client].Finally {
				at.Cause = history.CauseReleased
			}
		case model.RevokeLease, model.RestoreService:
			at.Cause = history.CauseRevoked
		}
	case model.Told:
		at.Lane, at.Kind, at.Op = name, history.KindOK, asked(step)
		t.client[e.Client].asked = false
	}
	at.Tenure = t.names[e.Tenure]
	t.add(at)
}

// refuse tells a client that it does not get the lock for which it asked.
func (t *teller) refuse(client int, reason string) {
	name := t.w.Names.Clients[client]
	t.add(history.Event{Lane: name, Client: name, Scope: t.w.Lock, Kind: history.KindFail, Op: history.OpLock, Reason: reason})
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

// tenure is what a request names: the tenure of which its client was told, or that for which it waits.
func (t *teller) tenure(e model.Entry) string {
	if e.Request.Tenure == 0 {
		return t.asks[t.id(uint8(e.Client), e.Request.Asked)].place
	}
	return t.names[e.Request.Tenure]
}

// id names a client's request.
func (t *teller) id(client, asked uint8) string {
	return fmt.Sprintf("%s-%d", t.w.Names.Clients[client], asked)
}

// request is one to the storage: what its client asked, and if it has arrived what the storage did, and what the client was told.
func (t *teller) request(name string, e model.Entry) {
	asks, keys := t.asksFor(name, e)
	if !t.told[asks.Request] {
		t.add(asks)
	}
	t.told[asks.Request] = true
	if e.What == model.Asked {
		return
	}
	does := history.Event{Lane: history.LaneStorage, Kind: history.KindApplied, Op: asks.Op, Client: name, Request: asks.Request,
		Scope: t.w.Lock, Token: asks.Token, Sequence: asks.Sequence, Value: t.asks[t.id(uint8(e.Client), e.Request.Asked)].value}
	if t.w.Settings.Fence != model.FenceOff {
		does.Mark = token(e.Token)
	}
	told := asks
	told.Kind, told.PartOf = history.KindOK, ""
	if e.What == model.WasRefused {
		does.Kind, does.Reason, told.Kind, told.Reason = history.KindRefused, string(e.Reason), history.KindFail, string(e.Reason)
	}
	if does.Op == history.OpChange {
		does.Op = history.OpWrite
	}
	for _, key := range keys {
		t.index++
		does.Index, does.Key = t.index, key
		if does.Kind == history.KindApplied {
			t.apply(&does)
		}
		if asks.Op == history.OpRead {
			told.Value, told.Missing = does.Value, does.Missing
		}
		t.add(does)
	}
	if !e.Request.Unheard {
		t.add(told)
	}
}

// apply has the storage do what an event tells. A read finds what there is.
func (t *teller) apply(e *history.Event) {
	switch e.Op {
	case history.OpRead:
		value, is := t.holds[e.Key]
		e.Value, e.Missing = value, !is
	case history.OpWrite:
		t.holds[e.Key] = e.Value
	case history.OpDelete:
		delete(t.holds, e.Key)
	}
}

// asksFor is what a client asks of the storage, and of which keys. One that changes key by key asks for a write of each.
func (t *teller) asksFor(name string, e model.Entry) (asks history.Event, keys []string) {
	r := e.Request
	id := t.id(uint8(e.Client), r.Asked)
	value := t.asks[id].value
	asks = history.Event{Lane: name, Kind: history.KindInvoke, Op: ops[r.Verb], Client: name, Tenure: t.tenure(e), Request: id,
		Scope: t.w.Lock, Token: token(r.Token), Sequence: int64(r.Sequence)}
	var all []history.Change
	for k, key := range t.w.Names.Keys {
		if t.w.Names.Changed&(1<<k) != 0 {
			all = append(all, history.Change{Key: key, Value: value})
		}
		if e.Keys&(1<<k) != 0 {
			keys = append(keys, key)
		}
	}
	switch {
	case r.Verb == model.Change && t.w.Settings.Clients[e.Client].Singly:
		part := func(key string) string { return id + "-" + key }
		asks.Op, asks.Key, asks.Value, asks.Changes = history.OpWrite, keys[0], value, all
		asks.Request, asks.PartOf = part(keys[0]), part(all[0].Key)
	case r.Verb == model.Change:
		asks.Changes = all
	default:
		asks.Key, asks.Value = keys[0], value
	}
	return asks, keys
}
