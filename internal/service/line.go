package service

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/pkg/fence"
)

// Line is who holds one lock, and who waits for it, by the account of a service that grants it in
// the order of tokens.
type Line struct {
	Lane, Lock string
	places     map[string]*Standing // by key
}

// Standing is a place in a line. When it is granted the lock it is a tenure.
type Standing struct {
	Key     string // is that of one place at a time
	Tenure  string
	Token   fence.Token
	Mode    fence.Mode
	Granted bool
}

// NewLine is a line in which nobody stands.
func NewLine(lane, lock string) *Line {
	return &Line{Lane: lane, Lock: lock, places: make(map[string]*Standing)}
}

// At is the place of a key; nil: there is none.
func (l *Line) At(key string) *Standing { return l.places[key] }

// InOrder are the places in the order in which they were taken.
func (l *Line) InOrder() []*Standing {
	return slices.SortedFunc(maps.Values(l.places), func(a, b *Standing) int { return cmp.Compare(a.Token, b.Token) })
}

// Enter adds a place, unless it is there, and says what that means.
func (l *Line) Enter(p Standing) (told []history.Event) {
	if l.places[p.Key] != nil {
		return nil
	}
	l.places[p.Key] = &p
	if told = l.grant(); !p.Granted {
		told = append(told, l.Event(history.KindQueued, &p))
	}
	return told
}

// Leave takes a place away, if it is there, and says what that means.
func (l *Line) Leave(key string) []history.Event {
	p := l.places[key]
	if p == nil {
		return nil
	}
	delete(l.places, key)
	return append([]history.Event{l.Event(history.KindEnded, p)}, l.grant()...)
}

// grant grants the lock to those whose turn it is, and tells of it: to the first, and to those that
// share the lock and have nobody before them who does not.
func (l *Line) grant() (told []history.Event) {
	for i, p := range l.InOrder() {
		shared := p.Mode == fence.Shared
		if i > 0 && !shared {
			break
		}
		if !p.Granted {
			p.Granted = true
			told = append(told, l.Event(history.KindGranted, p))
		}
		if !shared {
			break
		}
	}
	return told
}

// Event is what the account tells of a place now.
func (l *Line) Event(kind history.Kind, p *Standing) history.Event {
	e := history.Event{At: time.Duration(time.Now().UnixNano()), Lane: l.Lane, Kind: kind, Scope: l.Lock, Tenure: p.Tenure}
	if kind != history.KindEnded {
		e.Token, e.Mode = p.Token, p.Mode
	}
	return e
}
