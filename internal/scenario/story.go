package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/nearest"
	"github.com/fencelab/fencelab/internal/platform/strictyaml"
)

// Story follows the steps of a variant. What cannot happen, as the resuming of a client that was not paused, is
// an error of the file. It refuses only what is certain.
type Story struct {
	Variant *Variant
	Names   []string // of its clients
	Clients map[string]*ClientStory

	StorageDead  bool
	StorageStill bool            // it is stopped
	Facts        map[string]bool // of the lock service, by names of its own
	MayEnd       bool            // a lease may be over, or run out: there was a fault, or a client may have given up

	service *Service
	locks   []string // that the clients' settings and the steps so far name

	Counts   bool
	Requests int             // that the storage can be sent, without those of a count
	Written  map[string]bool // keys
	held     map[string]*values
}

// ClientStory is where a client stands in its story.
type ClientStory struct {
	Stopped string // why it cannot act: one of the reasons below; "" where it can
	Timed   bool   // the pause ends by itself
	Told    bool   // while it stands still, to finish what it began
	Loaded  bool

	Asked    []string // locks for which it has asked, at any time: there may be leases
	MayHold  []string // those for which its process has asked
	Queued   []string // those in whose queues it stands
	Begun    bool
	Half     []history.Change // what it has begun to write, and nothing of it is written yet
	Taking   bool             // what it has begun is a lock
	Last     int              // so many writes could be tried again
	Retrying bool             // there is something that could be

	Cut     []string // the services that it is cut off from
	Delayed bool
	Sent    bool // something that waits in the network
}

// Why a client cannot act.
const (
	Paused    = "pause"
	Collected = "gc"
	Killed    = "kill"
)

func (s *Story) begin() {
	s.Clients, s.Facts = make(map[string]*ClientStory), make(map[string]bool)
	s.Written, s.held = make(map[string]bool), make(map[string]*values)
	for _, name := range s.Names {
		s.Clients[name] = &ClientStory{}
		s.locks = append(s.locks, s.Variant.Clients[name].Lock)
	}
}

// follow returns the first step that cannot happen.
func (s *Story) follow(steps []placedStep) *strictyaml.Error {
	s.begin()
	var last placedStep // after which the storage does not serve
	for _, step := range steps {
		served := !s.StorageDead && !s.StorageStill
		if wrong := s.check(step.Step); wrong != "" {
			return errorAt(step.text.node, "%s", wrong)
		}
		if served && (s.StorageDead || s.StorageStill) {
			last = step
		}
	}
	if wrong := s.checkEnd(); wrong != "" {
		return errorAt(last.text.node, "%s", wrong)
	}
	return nil
}

// checkEnd says why the story cannot end here, "" if it can.
func (s *Story) checkEnd() string {
	switch {
	case s.StorageDead:
		return "the story ends with the storage dead, and nobody can look what it holds: it needs a step \"gcsim: restart storage\""
	case s.StorageStill:
		return "the story ends with the storage stopped, and nobody can look what it holds: it needs a step \"gcsim: resume storage\""
	}
	return ""
}

func (s *Story) check(step Step) string {
	c := s.Clients[step.Client]
	if c != nil && c.Stopped == Killed && !step.Form.Dead {
		return step.Client + " was killed before: nothing can be done with it until it is started again"
	}
	if c != nil && step.Actor == step.Client {
		if wrong := c.canAct(step); wrong != "" {
			return wrong
		}
	}
	if ofStorage := step.Send || step.Form.Target == TargetStorage || step.Other == TargetStorage; ofStorage && s.Variant.World.Storage.In == InService {
		return "the data lies in " + s.Variant.World.Service + ": there is no storage to send to, and nothing can be done to one"
	}
	if step.Form.Check != nil {
		if wrong := step.Form.Check(s, c, step); wrong != "" {
			return wrong
		}
	}
	s.MayEnd = s.MayEnd || s.Clients[step.Actor] == nil
	if step.Lock != "" {
		if wrong := s.service.clash(step.Lock, s.locks); wrong != "" {
			return wrong
		}
		s.locks = append(s.locks, step.Lock)
	}
	if step.Send {
		c.Told = c.Stopped != ""
		c.Sent = c.Sent || c.Delayed && !c.Told
	}
	return ""
}

// canAct says what keeps a client from doing anything of its own.
func (c *ClientStory) canAct(step Step) string {
	name := step.Client
	switch {
	case c.Stopped != "" && (step.Verb != Finish || !step.Send || !c.Begun):
		return fmt.Sprintf("%s stands still here (%s): first end the pause by \"gcsim: resume %s\", or await the end of a garbage collection, or of a pause for a time, by \"gcsim: await %s\". Meanwhile it can only be told to \"send finish\" what it has begun", name, c.Stopped, name, name)
	case c.Begun && step.Verb != Finish:
		return name + " is in the middle of what it has begun: it can do nothing else until it finishes"
	}
	return ""
}

// Keeps reports whether a client is sure to keep each lease that it may have.
func (s *Story) Keeps(name string) bool {
	return s.service.Renews && s.Variant.Clients[name].Command.Words == nil && !s.MayEnd
}

// Halfway reports whether clients can stand in the middle of taking a lock.
func (s *Story) Halfway() bool { return s.service.Halfway }

// LacksSession is the client whose session a client shares, where that cannot be there; else "".
func (s *Story) LacksSession(name string) string {
	owner := s.Variant.SessionOf(name)
	if owner != "" && len(s.Clients[owner].Asked) > 0 {
		return ""
	}
	return owner
}

func (c *ClientStory) CutOff(from string) bool { return slices.Contains(c.Cut, from) }

func (c *ClientStory) Ask(lock string) {
	for _, locks := range []*[]string{&c.Asked, &c.MayHold} {
		if !slices.Contains(*locks, lock) {
			*locks = append(*locks, lock)
		}
	}
}

// HasAsked is a Form's Check: the client has asked for the lock, named or any, and may have a lease.
func HasAsked(_ *Story, c *ClientStory, step Step) string {
	if len(c.Asked) == 0 {
		return step.Client + " has asked for no lock before, and so has no lease"
	}
	return unasked(step, c.Asked, "before")
}

// MayHold is a Form's Check: the client's process has asked for the lock that the step names, or any.
func MayHold(_ *Story, c *ClientStory, step Step) string {
	if len(c.MayHold) == 0 {
		return step.Client + " has asked for no lock since it was started, and so has none"
	}
	return unasked(step, c.MayHold, "since it was started")
}

// unasked says what is wrong with a step that names another lock than these.
func unasked(step Step, asked []string, when string) string {
	if step.Lock == "" || slices.Contains(asked, step.Lock) {
		return ""
	}
	help := fmt.Sprintf("it needs a step \"%s: lock %s\" before", step.Client, step.Lock)
	if meant := nearest.Word(step.Lock, asked); meant != "" {
		help = "did you mean " + meant + "?"
	}
	return fmt.Sprintf("%s has not asked for the lock %q %s: %s", step.Client, step.Lock, when, help)
}

// values are what a key can hold, by the steps of a story, whatever comes of each of them.
type values struct {
	texts   map[string]bool // that are written
	counted int             // how often it is incremented
}

// Writes notes that the keys of changes can come to hold their values.
func (s *Story) Writes(changes ...history.Change) {
	for _, c := range changes {
		s.valuesOf(c.Key).texts[c.Value] = true
	}
}

// Increments notes that a key can be incremented so often.
func (s *Story) Increments(key string, times int) { s.valuesOf(key).counted += times }

func (s *Story) valuesOf(key string) *values {
	s.Written[key] = true
	v := s.held[key]
	if v == nil {
		v = &values{texts: make(map[string]bool)}
		s.held[key] = v
	}
	return v
}

// cannotHold says why a key never holds a value, "": it can. Users' programs may write anything.
func (s *Story) cannotHold(key, value string) string {
	theirs := s.Variant.World.Storage.Command != ""
	for _, c := range s.Variant.Clients {
		theirs = theirs || c.Command.Words != nil
	}
	v := s.valuesOf(key)
	if theirs || v.texts[value] || v.counts(value) {
		return ""
	}
	switch known := slices.Sorted(maps.Keys(v.texts)); {
	case v.counted > 0:
		return fmt.Sprintf("%q cannot hold %q: a count leaves a whole number there, up to %d", key, value, v.most())
	case len(known) == 0:
		return fmt.Sprintf("%q cannot hold %q: no step that is finished writes a value there", key, value)
	default:
		quoted := make([]string, min(len(known), 5))
		for i := range quoted {
			quoted[i] = strconv.Quote(known[i])
		}
		return fmt.Sprintf("%q cannot hold %q: steps write %s there", key, value, strings.Join(quoted, ", "))
	}
}

func (v *values) counts(value string) bool {
	n, err := strconv.Atoi(value)
	return v.counted > 0 && err == nil && strconv.Itoa(n) == value && n <= v.most() && n > slices.Min(v.numbers())
}

// most is the highest number that a count can leave.
func (v *values) most() int { return v.counted + slices.Max(v.numbers()) }

// numbers are those from which a count can begin.
func (v *values) numbers() []int {
	list := []int{0}
	for text := range v.texts {
		if n, err := strconv.Atoi(text); err == nil {
			list = append(list, n)
		}
	}
	return list
}

// Changed are the values that a step gives to keys; a delete gives none.
func (s Step) Changed() []history.Change {
	if s.Key != "" && s.Form.gives() {
		return []history.Change{{Key: s.Key, Value: s.Value}}
	}
	return s.Changes
}
