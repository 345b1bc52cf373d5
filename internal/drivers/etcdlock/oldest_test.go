package etcdlock_test

import (
	"errors"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

// TestOldest: it admits holders, waiters and whoever comes later, and nobody whose
// tenure is over.
func TestOldest(t *testing.T) {
	s := newService(t)
	p := s.join(t, long)
	oldest := func() fence.Token {
		t.Helper()
		token, err := etcdlock.Oldest(t.Context(), p.client, "/lock", "/other/")
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	over := p.mustLock(t)
	if err := over.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	none := oldest()
	if over.Grant().Token >= none {
		t.Errorf("nobody holds a lock: %d, and %d is over", none, over.Grant().Token)
	}
	first := p.mustLock(t)
	if first.Grant().Token < none {
		t.Errorf("the next tenure has token %d, below %d", first.Grant().Token, none)
	}
	other, err := p.Lock(t.Context(), "/other/lock")
	if err != nil {
		t.Fatal(err)
	}
	waits, waiter := make(chan error, 1), s.join(t, long)
	go func() {
		tenure, err := waiter.Lock(t.Context(), scope)
		if err == nil && tenure.Grant().Token < other.Grant().Token {
			err = errors.New("the waiter came first")
		}
		waits <- err
	}()
	p.queue(t, 2)
	if got := oldest(); got != first.Grant().Token {
		t.Errorf("got %d, want %d, the first holder's", got, first.Grant().Token)
	}
	if err := first.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-waits; err != nil {
		t.Fatal(err)
	}
	if got := oldest(); got != other.Grant().Token {
		t.Errorf("got %d, want %d, the other lock's", got, other.Grant().Token)
	}
	if _, err := etcdlock.Oldest(t.Context(), p.client); err == nil {
		t.Error("no prefix was taken for all")
	}
}
