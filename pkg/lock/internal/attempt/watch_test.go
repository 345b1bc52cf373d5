package attempt

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestWatch: a holder is gone when its state was the same for its TTL, from when it was seen
// first until it was asked for.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWatch()
		h := Sign{Owner: "a", TTL: time.Second}
		alive := func(asked time.Time) bool { return len(w.Alive("/lock", []Sign{h}, asked)) > 0 }
		if !alive(time.Now()) {
			t.Error("gone when it is seen first")
		}
		time.Sleep(900 * time.Millisecond)
		asked := time.Now()
		time.Sleep(200 * time.Millisecond) // until the answer
		if !alive(asked) {
			t.Error("gone when it was asked for before its TTL")
		}
		if alive(time.Now()) {
			t.Error("there after its TTL")
		}
		h.State++
		if !alive(time.Now()) {
			t.Error("gone after a renewal")
		}
		if w.Alive("/lock", nil, time.Now()); len(w.seen) != 0 {
			t.Errorf("a free lock is remembered: %v", w.seen)
		}
	})
}

// TestWatchForgets: of too many locks the one that nobody has asked for longest.
func TestWatchForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWatch()
		h := []Sign{{Owner: "a", TTL: time.Minute}}
		for n := range remembered {
			w.Alive(fmt.Sprint(n), h, time.Now())
		}
		time.Sleep(time.Second)
		w.Alive("0", h, time.Now())
		time.Sleep(time.Minute)
		w.Alive("one more", h, time.Now())
		if len(w.seen) != remembered {
			t.Errorf("%d locks are remembered, want %d", len(w.seen), remembered)
		}
		if len(w.Alive("0", h, time.Now())) != 0 {
			t.Error("the lock that was asked for last is forgotten")
		}
	})
}
