package hunt

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
)

// teller tells one story: it draws each step when the one before is over, by what has come of that.
type teller struct {
	w       *World
	random  *rand.Rand
	telling *scenario.Telling
	length  int // of the story without its healing
	events  []history.Event
	writes  int
	asked   map[string]bool // what was done to heal
	met     []Meeting
	began   []time.Duration // when each step did
}

// Meeting is a fault, and where the client that it hit stood in the story.
type Meeting struct {
	Fault string `json:"fault"`
	Point string `json:"point"`
}

// shortest and longest are how many steps a story has before it is healed.
const shortest, longest = 6, 12

func newTeller(w *World, random *rand.Rand) *teller {
	t := &teller{
		w: w, random: random, telling: w.language.Tell(w.Scenario, w.Variant),
		length: shortest + random.IntN(longest-shortest+1), asked: make(map[string]bool),
	}
	if w.locks {
		t.length = lockSteps
	}
	return t
}

// next is lab.Options.Next. The story is over when nothing is left to heal.
func (t *teller) next() <-chan scenario.Step {
	steps := make(chan scenario.Step, 1)
	now := t.stand()
	step, more := scenario.Step{}, false
	if len(t.telling.Told()) < t.length {
		step, more = t.draw(now)
	}
	if !more {
		t.length = 0
		step, more = t.heal(now)
	}
	if more {
		t.began = append(t.began, t.events[len(t.events)-1].At)
		steps <- step
	} else {
		close(steps)
	}
	return steps
}

// stand is where a story stands: what may be, by its steps, and what is, by its events.
type stand struct {
	*scenario.Story
	*history.Ledger
	holder *history.Tenure // of those that hold a lock the last one; nil: none
	worked bool            // it has changed or read something, where clients do
}

func (t *teller) stand() stand {
	s := stand{Story: t.telling.Now(), Ledger: history.Fold(t.events)}
	for _, tenure := range s.Tenures {
		if tenure.Granted.Came() && !tenure.Ended.Came() && (s.holder == nil || tenure.N > s.holder.N) {
			s.holder = tenure
		}
	}
	s.worked = s.holder != nil && (t.w.locks || slices.ContainsFunc(s.Ledger.Requests, func(q *history.Request) bool { return q.Invoke.Tenure == s.holder.ID && len(q.Told) > 0 }))
	return s
}

func (s stand) holds(client string) bool { return len(s.Actor(client).Holds) > 0 }

// others reports whether another client holds a lock.
func (s stand) others(client string) bool { return s.holder != nil && s.holder.Client != client }

// stale reports whether a client may believe in a lock that another one has worked under.
func (s stand) stale(client string) bool {
	return !s.holds(client) && len(s.Clients[client].Asked) > 0 && s.others(client) && s.worked
}

// had reports whether a client was granted a lock since it was started, and has not let go, or was told that it has another's.
func (s stand) had(client string) bool {
	latest := s.Actor(client).Latest
	return s.holds(client) || len(s.Clients[client].MayHold) > 0 && latest != nil && latest.Ended.Cause != history.CauseReleased
}

// unknown reports whether a client does not know what became of its last request.
func (s stand) unknown(client string) bool {
	for _, q := range slices.Backward(s.Ledger.Requests) {
		if q.Invoke.Lane == client {
			return q.Answer.Kind == history.KindUnknown
		}
	}
	return false
}

// hindered reports whether a client cannot renew its lock.
func (s stand) hindered(client string) bool {
	c := s.Clients[client]
	return c != nil && (c.Stopped != "" || len(c.Cut) > 0)
}

// point is where a client stands, in a word.
func (s stand) point(client string) string {
	c := s.Clients[client]
	switch {
	case c == nil:
		return "of the servers"
	case c.Begun:
		return "in the middle"
	case len(c.Queued) > 0:
		return "waits"
	case s.holds(client):
		return "holds"
	case s.stale(client):
		return "was overtaken"
	case len(c.Asked) > 0:
		return "held"
	}
	return "idle"
}

type move struct {
	line   string
	weight float64
}

// draw takes one of the moves that can come, by their weights; more is false where none can.
func (t *teller) draw(now stand) (step scenario.Step, more bool) {
	moves := t.moves(now)
	for len(moves) > 0 {
		sum := 0.0
		for _, m := range moves {
			sum += m.weight
		}
		left, i := t.random.Float64()*sum, 0
		for i < len(moves)-1 && left >= moves[i].weight {
			left -= moves[i].weight
			i++
		}
		if step, ok := t.take(now, moves[i].line); ok {
			return step, true
		}
		moves = slices.Delete(moves, i, i+1)
	}
	return step, false
}

// take takes a step, if it can come, and notes whom a fault meets, and where.
func (t *teller) take(now stand, line string) (scenario.Step, bool) {
	step, err := t.telling.Take(line)
	if err == nil && step.Actor == scenario.ActorLab {
		t.met = append(t.met, Meeting{strings.ReplaceAll(step.Text, step.Client, "CLIENT"), now.point(step.Client)})
	}
	return step, err == nil
}

// moves are the steps that may come, each with its weight. What changes who holds weighs much, and a fault while something
// is under way; and once a lock has passed on, what those do who had it.
func (t *teller) moves(now stand) (moves []move) {
	add := func(weight float64, format string, args ...any) {
		moves = append(moves, move{fmt.Sprintf(format, args...), weight})
	}
	for _, name := range t.w.Scenario.Clients {
		if c := now.Clients[name]; c.Stopped == "" {
			if t.w.locks {
				t.takes(now, name, add)
			} else {
				t.acts(now, name, add)
			}
			t.faults(now, name, add)
		}
		t.ends(now, name, add)
	}
	if t.w.locks {
		t.disturb(add)
		return moves
	}
	for _, step := range t.w.plan {
		if now.Clients[step.Client] == nil || now.holds(step.Client) {
			add(1, "%s", step)
		}
	}
	if t.w.hitsStorage("kill") {
		add(0.3, "gcsim: kill storage")
		add(8, "gcsim: restart storage")
	}
	if t.w.hitsStorage("pause") {
		add(0.2, "gcsim: pause storage")
		add(4, "gcsim: resume storage")
	}
	return moves
}

// acts are what a client can do that runs.
func (t *teller) acts(now stand, name string, add func(float64, string, ...any)) {
	c, holds := now.Clients[name], now.holds(name)
	urge := 1.0
	switch {
	case now.stale(name):
		urge = 6
	case holds && now.holder.Client == name && !now.worked:
		urge = 3
	}
	if c.Begun {
		add(2*urge, "%s: finish", name)
		add(0.5, "%s: send finish", name)
		return
	}
	t.asks(now, name, add)
	waits := len(c.Queued) > 0 && !holds
	look := t.w.Variant.Clients[name].Text(setting.Look)
	switch asksService := !slices.Contains([]string{setting.LookBegin, setting.LookNothing, setting.LookSession}, look); {
	case waits && !asksService, !waits && !now.had(name):
		return // who asks nobody whether it holds the lock has no reason to work without
	case c.Sent && !t.w.faults[string(scenario.Retry)]:
		add(urge, "%s: unlock", name)
		return // what it sent is under way, and its next request could overtake that
	}
	t.writes++
	key, value := t.w.keys[t.random.IntN(len(t.w.keys))], fmt.Sprintf("%s-%d", name, t.writes)
	add(urge, "%s: read %s", name, key)
	add(0.3*urge, "%s: begin read %s", name, key)
	if now.unknown(name) {
		add(2*urge, "%s: retry", name)
	}
	if len(t.w.Scenario.Together) == 0 {
		add(0.4*urge, "%s: delete %s", name, key)
		if holds {
			add(0.5, "%s: begin delete %s", name, key)
		}
	}
	for _, write := range t.w.writes(key, value) {
		add(3*urge, "%s: %s", name, write)
		if c.Delayed {
			add(6*urge, "%s: send %s", name, write)
		}
		if holds {
			add(2, "%s: begin %s", name, write)
		}
	}
	add(urge, "%s: unlock", name)
	if !t.again(name) {
		add(0.4*urge, "%s: begin unlock", name)
	}
}

// again reports whether a client may hold a lock twice: what it gives back first leaves it held, so no unlock can begin.
func (t *teller) again(client string) bool {
	times := 0
	for _, s := range t.telling.Told() {
		switch {
		case s.Client != client:
		case s.Verb == scenario.Unlock:
			times = 0
		case slices.Contains([]scenario.Verb{scenario.Lock, scenario.TryLock, scenario.Queue}, s.Verb):
			times++
		}
	}
	return times > 1
}

// writes are the steps that write a value. Keys that belong together are written together.
func (w *World) writes(key, value string) (steps []string) {
	for _, set := range w.Scenario.Together {
		if slices.Contains(set, key) {
			return []string{"change " + strings.Join(set, "="+value+" ") + "=" + value}
		}
	}
	steps = []string{"write " + key + "=" + value}
	if len(w.keys) > 1 && len(w.Scenario.Together) == 0 {
		steps = append(steps, fmt.Sprintf("change %s=%s %s=%[2]s", w.keys[0], value, w.keys[1]))
	}
	return steps
}

// asks are how a client can ask for a lock: it waits only if the lock is free, or will be.
func (t *teller) asks(now stand, name string, add func(float64, string, ...any)) {
	weight := 1.0
	if now.hindered(name) || now.holds(name) {
		weight = 0.05
	}
	lock := ""
	if locks := t.w.Variant.Locks(); len(locks) > 1 && t.random.IntN(4) == 0 {
		lock = " " + locks[t.random.IntN(len(locks))]
	}
	switch {
	case len(now.Clients[name].Queued) > 0:
		add(0.3, "%s: leave%s", name, lock)
	default:
		add(0.8*weight, "%s: trylock%s", name, lock)
		if !t.w.library(name) {
			add(0.8*weight, "%s: queue%s", name, lock)
		}
	}
	if !now.others(name) || now.hindered(now.holder.Client) && t.w.short(now.holder.Client) {
		add(6*weight, "%s: lock%s within %s", name, lock, t.w.patience())
		if !t.w.library(name) {
			add(0.6*weight, "%s: begin lock%s", name, lock)
		}
	}
}

// patience is how long a client waits for a lock that nobody can renew: a second longer than it may be held.
func (w *World) patience() string {
	var most time.Duration
	if w.service.Bounds != nil {
		bounds, handover := w.service.Bounds(w.Variant.World.Settings, w.Variant.Clients)
		for client, bound := range bounds {
			if w.short(client) {
				most = max(most, bound+handover)
			}
		}
	}
	return fmt.Sprintf("%ds", min(max(4, int(most.Seconds())+2), 12))
}

// short reports whether the lease of a client is over soon. Nobody waits for the end of a long one.
func (w *World) short(client string) bool {
	c, known := w.Variant.Clients[client]
	return !known || c.Time(setting.TTL) <= 5*time.Second
}

// faults are what can be done to a client that runs, while something is under way.
func (t *teller) faults(now stand, name string, add func(float64, string, ...any)) {
	c := now.Clients[name]
	if !c.Begun && len(c.Asked) == 0 || now.stale(name) {
		return
	}
	weight := 1.0
	for _, other := range t.w.Scenario.Clients {
		if other != name && now.hindered(other) {
			weight = 0.2
		}
	}
	if c.Begun || now.holds(name) && now.worked {
		weight *= 1.5
	}
	if !t.w.short(name) || t.w.locks { // where a story is long
		weight *= 0.2
	}
	add(4*weight, "gcsim: pause %s", name)
	add(weight, "gcsim: kill %s", name)
	add(weight, "gcsim: partition %s from %s", name, t.w.service.Name)
	add(0.3*weight, "gcsim: deafen %s to %s", name, t.w.service.Name)
	if !t.w.locks {
		add(weight, "gcsim: delay %s to storage", name)
	}
	for _, fault := range []string{"terminate", "load", "gc", "reset"} {
		if t.w.faults[fault] {
			add(2*weight, "gcsim: %s %s", fault, name)
		}
	}
	if t.w.faults["deafen "] {
		add(weight, "gcsim: deafen %s to storage", name)
	}
}

// ends are what ends a fault of a client. Its time comes when another client has worked meanwhile.
func (t *teller) ends(now stand, name string, add func(float64, string, ...any)) {
	c, weight := now.Clients[name], 0.3
	if now.hindered(name) || c.Delayed {
		switch {
		case now.stale(name):
			weight = 8
		case now.holds(name) && (t.w.locks || !now.others(name)) && t.w.short(name):
			add(1, "%s: await expiry of %s", t.w.service.Name, name)
		}
	}
	if _, serves := t.down(); serves { // who starts asks the lock service
		add(0.5*weight, "gcsim: restart %s", name)
	}
	for _, end := range []string{"resume", "await", "heal", "deliver"} {
		add(weight, "gcsim: %s %s", end, name)
	}
	if c.Begun && c.Stopped != "" {
		add(0.5, "%s: send finish", name)
	}
}
