package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/history"
)

// whole is a change of several keys, in one request or one after the other.
type whole struct {
	keys []string
	done map[string]int // key → how often it changed it so far
}

// wholeOf is the change of several keys that a request is, or is a part of, by its name; nil: none.
func wholeOf(named map[string]*whole, e history.Event) *whole {
	if e.Op != history.OpChange && e.PartOf == "" {
		return nil
	}
	if w := named[e.PartOf]; w != nil {
		return w
	}
	w := &whole{done: make(map[string]int)}
	for _, c := range e.Changes {
		w.keys = append(w.keys, c.Key)
	}
	if e.PartOf != "" {
		named[e.PartOf] = w
	}
	return w
}

// set is of keys that make sense only if one tenure wrote them all.
type set struct {
	keys []string
	said map[int]bool // changes that were said to be half
}

// torn finds that somebody saw a half change: a holder of a later tenure by a read, or, where t is nil,
// everybody at the end. Who reads without the lock must be prepared for anything.
func (j *judge) torn(s *set, i int, e history.Event, t *tenure) {
	if !slices.Contains(s.keys, e.Key) || e.Op == history.OpWrite || e.Op == history.OpDelete || j.isOpen(s) || j.whole(s) {
		return
	}
	last := j.lastOfAll(s)
	later := t != nil && (last.tenure == nil || t.scope == last.tenure.scope && t.order > last.tenure.order && !t.together(last.tenure))
	if e.Kind != history.KindFinal && !later || s.said[last.event] {
		return
	}
	s.said[last.event] = true
	saw := "so they are at the end"
	if t != nil {
		saw = j.name(i) + " finds them so"
	}
	what := fmt.Sprintf("%s is half of a change: %s belong together, and %s", j.name(last.event), strings.Join(s.keys, ", "), saw)
	if last.tenure != nil && last.tenure.starved != "" {
		j.excuse(history.Torn, last.event, i, what, last.tenure.starved)
		return
	}
	j.violate(history.Torn, last.event, i, "%s", what)
}

func (j *judge) isOpen(s *set) bool {
	return slices.ContainsFunc(s.keys, func(key string) bool { return j.open[key] })
}

// lastOfAll is the last change of any key of a set, of which one was changed.
func (j *judge) lastOfAll(s *set) (last *change) {
	for _, key := range s.keys {
		if c := j.lastOf(key); c != nil && (last == nil || c.place > last.place) {
			last = c
		}
	}
	return last
}

// whole reports whether one author changed all keys, or nobody any, and no change is half done.
func (j *judge) whole(s *set) bool {
	first := author(j.lastOf(s.keys[0]))
	for _, key := range s.keys {
		c := j.lastOf(key)
		if author(c) != first || c != nil && c.by.whole != nil && !s.complete(c.by.whole) {
			return false
		}
	}
	return true
}

// complete reports whether a change changed all keys of the set that it was to.
func (s *set) complete(w *whole) bool {
	return !slices.ContainsFunc(w.keys, func(key string) bool { return slices.Contains(s.keys, key) && w.done[key] == 0 })
}

// author is who made a change: the request's tenure or, where there is none, its client; "": no change.
func author(c *change) string {
	switch {
	case c == nil:
		return ""
	case c.by.tenure == "":
		return "client " + c.by.client
	}
	return "tenure " + c.by.tenure
}
