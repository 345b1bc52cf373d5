package eslock

import (
	"sync"
	"time"
)

// watch is what a Backend has seen of the holders of locks, and since when.
type watch struct {
	mu   sync.Mutex
	seen map[string]map[string]sighting // scope → owner
}

// sighting is the state of a holder, and when it was seen first.
type sighting struct {
	renewals int64
	since    time.Time
}

func newWatch() *watch { return &watch{seen: make(map[string]map[string]sighting)} }

// alive takes in the document of a lock, which was asked for at a time, and returns the holders
// whose leases may go on: all but those whose state was the same for their TTL.
//
// A holder counts its lease from before it sent the renewal. The renewal was there when it was
// seen first, and there was no other until the document was asked for now.
func (w *watch) alive(scope string, holders []holder, asked time.Time) (list []holder) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before, now := w.seen[scope], make(map[string]sighting)
	for _, h := range holders {
		s, known := before[h.Owner]
		if !known || s.renewals != h.Renewals {
			s = sighting{h.Renewals, time.Now()}
		}
		now[h.Owner] = s
		if asked.Sub(s.since) < h.ttl() {
			list = append(list, h)
		}
	}
	if w.seen[scope] = now; len(now) == 0 {
		delete(w.seen, scope)
	}
	return list
}
