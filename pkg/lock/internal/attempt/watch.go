package attempt

import (
	"sync"
	"time"
)

// remembered is of how many locks a Watch knows the holders at most.
const remembered = 10_000

// Watch is what a backend has seen of the holders of locks, and since when, where the lock service ends no leases. It
// forgets the lock that nobody has asked for longest: a holder of that lock is seen for the first time again.
type Watch struct {
	mu   sync.Mutex
	seen map[string]*sight // by scope
}

// Sign is what a holder of a lock has written: another State with each renewal.
type Sign struct {
	Owner string
	State int64
	TTL   time.Duration
}

// sight is what was seen of a lock.
type sight struct {
	asked   time.Time
	holders map[string]sighting // by owner
}

// sighting is the state of a holder, and when it was seen first.
type sighting struct {
	state int64
	since time.Time
}

// NewWatch is one that has seen nothing.
func NewWatch() *Watch { return &Watch{seen: make(map[string]*sight)} }

// Alive takes in the signs of a lock, which was asked for at a time, and returns the owners
// whose leases may go on: all but those whose state was the same for their TTL.
//
// A holder counts its lease from before it sent the renewal. The renewal was there when it was
// seen first, and there was no other until the lock was asked for now.
func (w *Watch) Alive(scope string, signs []Sign, asked time.Time) (owners []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(signs) == 0 {
		delete(w.seen, scope)
		return nil
	}
	lock := w.seen[scope]
	if lock == nil {
		lock = w.look(scope)
	}
	before := lock.holders
	lock.asked, lock.holders = asked, make(map[string]sighting)
	for _, h := range signs {
		s, known := before[h.Owner]
		if !known || s.state != h.State {
			s = sighting{h.State, time.Now()}
		}
		lock.holders[h.Owner] = s
		if asked.Sub(s.since) < h.TTL {
			owners = append(owners, h.Owner)
		}
	}
	return owners
}

// look begins to look at a lock, and forgets another one where there are too many.
func (w *Watch) look(scope string) *sight {
	if len(w.seen) >= remembered {
		oldest := ""
		for other, s := range w.seen {
			if oldest == "" || s.asked.Before(w.seen[oldest].asked) {
				oldest = other
			}
		}
		delete(w.seen, oldest)
	}
	w.seen[scope] = new(sight)
	return w.seen[scope]
}
