package verdict

import (
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/history"
)

// whole is a change of several keys, in one request or one after the other.
type whole struct {
	keys []string
	done map[string]bool // keys that it changed so far
}

// wholeOf is the change of several keys that a request is, or is a part of; nil:
// none. Those that are made one key after the other are kept by their name.
func wholeOf(named map[string]*whole, e history.Event) *whole {
	if e.Op != history.OpChange && e.PartOf == "" {
		return nil
	}
	if w := named[e.PartOf]; w != nil {
		return w
	}
	w := &whole{done: make(map[string]bool)}
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
	keys    []string
	authors map[string]author // key → who last changed it; absent: nobody
	last    int               // event that changed one of them
	tenure  *tenure           // of that; nil: none
	seen    int               // the half change that was spoken of last
}

// author is who changed a key: the tenure that a request names or, where it names
// none, its client; and the change of several keys by which, if it was one.
type author struct {
	who   string
	whole *whole
}

func newSet(keys []string) *set {
	return &set{keys: keys, authors: make(map[string]author), last: -1, seen: -1}
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
	j.violate(history.Torn, s.last, i, "%s is half of a change: %s belong together, and %s", j.name(s.last), strings.Join(s.keys, ", "), saw)
}

// whole reports whether one author changed all keys, or nobody any, and no change
// is half done.
func (s *set) whole() bool {
	for _, key := range s.keys {
		a := s.authors[key]
		if a.who != s.authors[s.keys[0]].who || a.whole != nil && !s.complete(a.whole) {
			return false
		}
	}
	return true
}

// complete reports whether a change changed all keys of the set that it was to.
func (s *set) complete(w *whole) bool {
	return !slices.ContainsFunc(w.keys, func(key string) bool { return slices.Contains(s.keys, key) && !w.done[key] })
}

func (j *judge) author(e history.Event) author {
	a := j.attempt(e)
	who := "tenure " + a.tenure
	if a.tenure == "" {
		who = "client " + a.client
	}
	if a.whole != nil {
		a.whole.done[e.Key] = true
	}
	return author{who, a.whole}
}
