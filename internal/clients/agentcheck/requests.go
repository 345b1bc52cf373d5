package agentcheck

import (
	"context"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/outside/stage"
	"github.com/fencelab/fencelab/internal/storage/kv"
)

// stored is what the storage did of a request of a client's, by its account.
func (t *trial) stored(asked history.Event) (l kv.Line) {
	if asked.Request == "" {
		t.failf("the invoke of its %s has no request", asked.Op)
	}
	ctx, cancel := context.WithTimeoutCause(t.ctx, t.Patience, fmt.Errorf("the storage's account has none after %v", t.Patience))
	defer cancel()
	t.need(t.stage.Await(ctx, fmt.Sprintf("a request with the X-Request-Id %q", asked.Request), func(a *stage.Account) bool {
		asked := a.Asked(asked.Request)
		if len(asked) > 0 {
			l = asked[0]
		}
		return len(asked) > 0
	}))
	return l
}

func invokeComesFirst(t *trial) {
	c, lock := t.holder()
	if grant := t.granted(lock.outcome); lock.asked.At > grant.At {
		t.failf("the at of the invoke of its lock is %d, and the lock was granted before, at %d", lock.asked.At, grant.At)
	}
	write := c.ok("write key0=1")
	if at := time.Duration(t.stored(write.asked).Time.UnixNano()); write.asked.At > at {
		t.failf("the at of the invoke of its write is %d, and the storage had it before, at %d", write.asked.At, at)
	}
}

func requestIsSent(t *trial) {
	c, lock := t.holder()
	write := c.ok("write key0=1")
	did := t.stored(write.asked)
	want := kv.Line{Op: history.OpWrite, Key: "key0", Value: "1", Scope: t.lock, Token: lock.outcome.Token}
	got := kv.Line{Op: did.Op, Key: did.Key, Value: did.Value, Scope: did.Scope, Token: did.Token}
	if got != want {
		t.failf("the storage was asked for %s, want %s", inWords(got), inWords(want))
	}
	said := kv.Line{Op: write.asked.Op, Key: write.asked.Key, Value: write.asked.Value, Scope: write.asked.Scope, Token: write.asked.Token}
	if said != want {
		t.failf("it says that it asks for %s, want %s", inWords(said), inWords(want))
	}
}

func inWords(l kv.Line) string {
	return fmt.Sprintf("%s %s=%s in the scope %q with the token %d", l.Op, l.Key, l.Value, l.Scope, l.Token)
}

// requestsAreUnique: IDs of two requests, and of two by a process that takes the place of the
// first one.
func requestsAreUnique(t *trial) {
	seen := make(map[string]bool)
	for range 2 {
		askedBefore := len(seen)
		c := t.start(askedBefore)
		for range 2 {
			read := c.ok("read key0")
			t.stored(read.asked)
			if id := read.asked.Request; seen[id] {
				t.failf("the request %q comes twice; --asked-before was %d", id, askedBefore)
			}
			seen[read.asked.Request] = true
		}
		t.need(c.process.Kill())
	}
}

func valuesAreWhole(t *trial) {
	c, _ := t.holder()
	const value = "a=b  c ü %2F"
	did := t.stored(c.ok("write key1=" + value).asked)
	read := c.ok("read key1")
	if did.Key != "key1" || did.Value != value || read.outcome.Value != value {
		t.failf("%q was written to the key %q, and %q was read: want %q", did.Value, did.Key, read.outcome.Value, value)
	}
	if !c.ok("read nothing").outcome.Missing {
		t.failf("it reads a key that has no value, and does not say that it is missing")
	}
}

func beginStands(t *trial) {
	c, _ := t.holder()
	if e := c.begin("write key0=begun"); e.Op != history.OpWrite || e.Key != "key0" {
		t.failf("its note says the op %q and the key %q, want write and key0", e.Op, e.Key)
	}
	c.tell("read key0")
	if e := c.next(""); e.Kind != history.KindError {
		t.failf("it stands, and answers a read by the kind %q, want error", e.Kind)
	}
	told := time.Now()
	if t.stored(c.ok("finish").asked).Time.Before(told) {
		t.failf("the storage had its write before it was told to finish")
	}
}
