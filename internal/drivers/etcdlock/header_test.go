package etcdlock_test

import (
	"testing"

	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

// TestHeaderRevisionIsAboveThoseWhoWait: as a token it would fence out the one
// who is granted the lock next, whose key is older.
func TestHeaderRevisionIsAboveThoseWhoWait(t *testing.T) {
	s := newService(t)
	a, b, c := s.join(t, long), s.join(t, long), s.join(t, long)
	holder := a.mustLock(t)
	second := b.lockInBackground(t.Context())
	a.queue(t, 2)
	third := c.lockInBackground(t.Context())
	waiting := a.queue(t, 3)[2].CreateRevision
	if header := holder.HeaderRevision(); header != int64(holder.Grant().Token) {
		t.Errorf("granted at once: header revision %d, want the create revision, %d", header, holder.Grant().Token)
	}
	last := holder.HeaderRevision()
	for _, next := range []<-chan result{second, third} {
		if err := holder.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		r := <-next
		if r.err != nil {
			t.Fatal(r.err)
		}
		holder = r.tenure.(*etcdlock.Tenure)
		if header := holder.HeaderRevision(); header <= waiting || header <= last {
			t.Errorf("header revision %d, want more than %d, that of a waiter, and than %d, that of the grant before", header, waiting, last)
		}
		last = holder.HeaderRevision()
	}
}
