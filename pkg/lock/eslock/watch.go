package eslock

import (
	"sync"
	"time"
)

// remembered is of how many locks a watch knows the holders at most.
const remembered = 10_000

// watch is what a Backend has seen of the holders of locks, and since when. It forgets the lock
// that nobody has asked for longest: a holder of that lock is seen for the first time again.
type watch struct {
	mu   sync.Mutex
	seen map[string]*sight // by scope
}

// sight is what was seen of a lock.
type sight struct {
	asked   time.Time
	holders map[string]sighting // by owner
}

// sighting is the state of a holder, and when it was seen first.
type sighting struct {
	renewals int64
	since    time.Time
}

func newWatch() *watch { return &watch{seen: make(map[string]*sight)} }

// alive takes in the document of a lock, which was asked for at a time, and returns the holders
// whose leases may go on: all but those whose state was the same for their TTL.
//
// A holder counts its lease from before it sent the renewal. The renewal was there when it was
// seen first, and there was no other until the document was asked for now.
func (w *watch) alive(scope string, holders []holder, asked time.Time) (list []holder) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(holders) == 0 {
		delete(w.seen, scope)
		return nil
	}
	lock := w.seen[scope]
	if lock == nil {
		lock = w.look(scope)
	}
	before := lock.holders
	lock.asked, lock.holders = asked, make(map[string]sighting)
	for _, h := range holders {
		s, known := before[h.Owner]
		if !known || s.renewals != h.Renewals {
			s = sighting{h.Renewals, time.Now()}
		}
		lock.holders[h.Owner] = s
		if asked.Sub(s.since) < h.ttl() {
			list = append(list, h)
		}
	}
	return list
}

// look begins to look at a lock, and forgets another one where there are too many.
func (w *watch) look(scope string) *sight {
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
