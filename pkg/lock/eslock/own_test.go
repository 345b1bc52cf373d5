package eslock

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
)

// TestRefuses: what New and Create cannot use, each with what to do.
func TestRefuses(t *testing.T) {
	const address = "http://127.0.0.1:9200"
	for _, tt := range []struct {
		address string
		ttl     time.Duration
		option  Option
		want    string
	}{
		{address, 0, Poll(time.Second), "want whole milliseconds"},
		{address, time.Microsecond, Poll(time.Second), "want whole milliseconds"},
		{address, time.Second, Poll(0), "want 1ms or more"},
		{address, time.Second, Index("Locks"), "want a name of small letters"},
		{address, time.Second, Index("_locks"), "want a name of small letters"},
		{"127.0.0.1:9200", time.Second, Poll(time.Second), "eslock: the address is none"},
		{"ftp://u:secret@h", time.Second, Poll(time.Second), "want a URL like http://HOST:9200"},
		{"http://u:secret@h:x", time.Second, Poll(time.Second), "want a URL like http://HOST:9200"},
	} {
		_, err := New(tt.address, tt.ttl, tt.option)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") || fence.OutcomeOf(err) != fence.Definite {
			t.Errorf("%s, %v: got %v, want %q", tt.address, tt.ttl, err, tt.want)
		}
	}
}

// TestWatch: a holder is gone when its state was the same for its TTL, from when it was seen
// first until it was asked for.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatch()
		h := holder{Owner: "a", TTL: 1000}
		alive := func(asked time.Time) bool { return len(w.alive("/lock", []holder{h}, asked)) > 0 }
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
		h.Renewals++
		if !alive(time.Now()) {
			t.Error("gone after a renewal")
		}
		if w.alive("/lock", nil, time.Now()); len(w.seen) != 0 {
			t.Errorf("a free lock is remembered: %v", w.seen)
		}
	})
}

// TestWatchForgets: of too many locks the one that nobody has asked for longest.
func TestWatchForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatch()
		h := []holder{{Owner: "a", TTL: 60_000}}
		for n := range remembered {
			w.alive(fmt.Sprint(n), h, time.Now())
		}
		time.Sleep(time.Second)
		w.alive("0", h, time.Now())
		time.Sleep(time.Minute)
		w.alive("one more", h, time.Now())
		if len(w.seen) != remembered {
			t.Errorf("%d locks are remembered, want %d", len(w.seen), remembered)
		}
		if len(w.alive("0", h, time.Now())) != 0 {
			t.Error("the lock that was asked for last is forgotten")
		}
	})
}
