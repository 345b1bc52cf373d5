package verdict

import (
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/history"
)

// set is of keys that make sense only if one tenure wrote them all.
type set struct {
	keys    []string
	authors map[string]string // key → who last changed it; absent: nobody
	last    int               // event that changed one of them
	tenure  *tenure           // of that; nil: none
	seen    int               // the half change that was spoken of last
}

func newSet(keys []string) *set {
	return &set{keys: keys, authors: make(map[string]string), last: -1, seen: -1}
}

// torn finds that somebody saw a half change: a holder of a later tenure by a
// read, or, where t is nil, everybody at the end. Who reads without the lock
// must be prepared for anything.
func (j *judge) torn(s *set, i int, e history.Event, t *tenure) {
	if !slices.Contains(s.keys, e.Key) {
		return
	}
	if e.Op == history.OpWrite || e.Op == history.OpDelete {
		s.authors[e.Key], s.last, s.tenure = j.author(e), i, t
		return
	}
	later := t != nil && (s.tenure == nil || t.scope == s.tenure.scope && t.order > s.tenure.order)
	if e.Kind != history.KindFinal && !later || s.whole() || s.seen == s.last {
		return
	}
	s.seen = s.last
	saw := "so they are at the end"
	if t != nil {
		saw = j.name(i) + " finds them so"
	}
	j.violate(history.Corrupted, s.last, i, "%s is half of a change: %s belong together, and %s", j.name(s.last), strings.Join(s.keys, ", "), saw)
}

// whole reports whether one author changed all keys, or nobody any.
func (s *set) whole() bool {
	for _, key := range s.keys {
		if s.authors[key] != s.authors[s.keys[0]] {
			return false
		}
	}
	return true
}

// author is the tenure under which a change was made; without one, its client.
func (j *judge) author(e history.Event) string {
	switch r := j.requests[e.Request]; {
	case r == nil:
		return "somebody"
	case r.tenure == "":
		return r.client
	default:
		return r.tenure
	}
}
