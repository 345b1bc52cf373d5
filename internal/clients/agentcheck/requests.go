package agentcheck

import (
	"fmt"
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/outside/stage"
	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/pkg/fence"
)

// stored is what the storage did of a request of a client's, by its account.
func (t *trial) stored(asked history.Event) (l kv.Line) {
	if asked.Request == "" {
		failf("the invoke of its %s has no request", asked.Op)
	}
	what := fmt.Sprintf("a request with the X-Request-Id %q", asked.Request)
	t.await(t.Patience, what, "the storage's account has none", func(a *stage.Account) bool {
		i := slices.IndexFunc(a.Requests, func(l kv.Line) bool { return l.ID == asked.Request })
		if i >= 0 {
			l = a.Requests[i]
		}
		return i >= 0
	})
	return l
}

// stores holds what the storage did of a request to what was wanted of it, once.
func (t *trial) stores(asked history.Event, want kv.Line) {
	did := t.stored(asked)
	if got := (kv.Line{Op: did.Op, Key: did.Key, Value: did.Value, Scope: did.Scope, Token: did.Token}); got != want {
		failf("the storage was asked for %s, want %s", inWords(got), inWords(want))
	}
	t.put("after", "") // so that the account has all that the storage did before
	times := 0
	t.stage.See(func(a *stage.Account) {
		for _, l := range a.Requests {
			same := l.Op == want.Op && l.Key == want.Key && l.Scope == want.Scope
			if l.ID == asked.Request || same && !t.asked[l.ID] {
				times++
			}
		}
	})
	if times != 1 {
		failf("it says that it asks for %s once, and the storage was asked %d times", inWords(want), times)
	}
}

// put has the storage hold a value, which may be one that no command can have, and awaits that the account has that.
func (t *trial) put(key, value string) {
	storage := kvhttp.NewClient(t.stage.Storage, kvhttp.ClientOptions{})
	defer storage.Close()
	t.puts++
	asked := history.Event{Op: history.OpWrite, Request: fmt.Sprintf("put-%d-%s", t.puts, t.check.name)}
	_, err := storage.Write(t.ctx, kv.Request{ID: asked.Request, Claim: fence.Claim{Scope: key, Token: 1}}, key, value)
	fail.If(err)
	t.stored(asked)
}

func invokeComesFirst(t *trial) {
	c, lock := t.holder()
	if grant := t.granted(lock.outcome); lock.asked.At > grant.At {
		failf("the at of the invoke of its lock is %d, and the lock was granted before, at %d", lock.asked.At, grant.At)
	}
	write := c.ok("write key0=1")
	if at := time.Duration(t.stored(write.asked).Time.UnixNano()); write.asked.At > at {
		failf("the at of the invoke of its write is %d, and the storage had it before, at %d", write.asked.At, at)
	}
}

func requestIsSent(t *trial) {
	c, lock := t.holder()
	write := c.ok("write key0=1")
	want := kv.Line{Op: history.OpWrite, Key: "key0", Value: "1", Scope: t.lock, Token: lock.outcome.Token}
	t.stores(write.asked, want)
	said := kv.Line{Op: write.asked.Op, Key: write.asked.Key, Value: write.asked.Value, Scope: write.asked.Scope, Token: write.asked.Token}
	if said != want {
		failf("it says that it asks for %s, want %s", inWords(said), inWords(want))
	}
}

func inWords(l kv.Line) string {
	return fmt.Sprintf("%s %s=%s in the scope %q with the token %d", l.Op, l.Key, l.Value, l.Scope, l.Token)
}

// requestsAreUnique: IDs of two requests, and of two by a process that takes the place of the first one.
func requestsAreUnique(t *trial) {
	seen := make(map[string]bool)
	for range 2 {
		askedBefore := len(seen)
		c := t.start(askedBefore)
		for range 2 {
			read := c.ok("read key0")
			t.stored(read.asked)
			if id := read.asked.Request; seen[id] {
				failf("the request %q comes twice; --asked-before was %d", id, askedBefore)
			}
			seen[read.asked.Request] = true
		}
		fail.If(c.process.Kill())
	}
}

func valuesAreWhole(t *trial) {
	c, _ := t.holder()
	const value = " a=b  c ü %2F\t "
	did := t.stored(c.ok("write key1=" + value).asked)
	read := c.ok("read key1")
	if did.Key != "key1" || did.Value != value || read.outcome.Value != value {
		failf("%q was written to the key %q, and %q was read: want %q", did.Value, did.Key, read.outcome.Value, value)
	}
	const lines = "\n two lines\r\n\n"
	t.put("key8", lines)
	if read := c.ok("read key8"); read.outcome.Value != lines {
		failf("the key has %q, and it says that it has read %q", lines, read.outcome.Value)
	}
	if !c.ok("read nothing").outcome.Missing {
		failf("it reads a key that has no value, and does not say that it is missing")
	}
}

func beginStands(t *trial) {
	c, _ := t.holder()
	if e := c.begin("write key0=begun"); e.Op != history.OpWrite || e.Key != "key0" {
		failf("its note says the op %q and the key %q, want write and key0", e.Op, e.Key)
	}
	c.tell("read key0")
	if e := c.next(""); e.Kind != history.KindError {
		failf("it stands, and answers a read by the kind %q, want error", e.Kind)
	}
	told := time.Now()
	if t.stored(c.ok("finish").asked).Time.Before(told) {
		failf("the storage had its write before it was told to finish")
	}
}

func deleteIsSent(t *trial) {
	c, lock := t.holder()
	c.ok("write key2=1")
	t.stores(c.ok("delete key2").asked, kv.Line{Op: history.OpDelete, Key: "key2", Scope: t.lock, Token: lock.outcome.Token})
	if !c.ok("read key2").outcome.Missing {
		failf("it has deleted the key, and its read does not say that it is missing")
	}
}

func changeIsSent(t *trial) {
	c, lock := t.holder()
	want := map[string]string{"key3": "1", "key4": "2"}
	change := c.ok("change key3=1 key4=2")
	if n := len(change.asked.Changes); n != len(want) {
		failf("the invoke of its change names %d changes, want %d", n, len(want))
	}
	if change.asked.Op == history.OpWrite { // by --change singly
		c.outcome("change")
	}
	if did := t.stored(change.asked); did.Scope != t.lock || did.Token != lock.outcome.Token {
		failf("the storage was asked in the scope %q with the token %d, want %q and %d", did.Scope, did.Token, t.lock, lock.outcome.Token)
	}
	for key, value := range want {
		if read := c.ok("read " + key); read.outcome.Value != value {
			failf("after its change %s has %q, want %q", key, read.outcome.Value, value)
		}
	}
}

// sendIsInBackground has the storage stand still while the client sends.
func sendIsInBackground(t *trial) {
	c, _ := t.holder()
	var sent answer
	fail.If(t.stage.StorageStill(func() error {
		return fail.Caught(func() {
			sent = c.sends("send write key5=sent")
			c.do("lock")
		})
	}))
	var err error
	if sent.outcome, err = c.hear(); err != nil {
		failf("waiting for the outcome of what it sent: %w", err)
	}
	fail.If(sent.check("send"))
	if sent.outcome.Kind != history.KindOK {
		failf("the storage has answered, and what it sent ends as %q, want ok", sent.outcome.Kind)
	}
	t.stored(sent.asked)
}

// retryAsksAgain has the storage stand still until the client does not wait any more. Then the client takes the lock
// anew, whose token is none of the retry's.
func retryAsksAgain(t *trial) {
	c, _ := t.holder()
	var first answer
	fail.If(t.stage.StorageStill(func() error {
		return fail.Caught(func() { first = c.do("write key6=again") })
	}))
	if first.outcome.Kind != history.KindUnknown {
		failf("the storage did not answer, and its write ends as %q, want unknown", first.outcome.Kind)
	}
	c.ok("unlock")
	c.ok("lock")
	again := c.ok("retry")
	switch a := again.asked; {
	case a.RetryOf != first.asked.Request:
		failf("the retry_of of its retry is %q, want the first request, %q", a.RetryOf, first.asked.Request)
	case a.Request == first.asked.Request:
		failf("its retry has the request %q of the first attempt, want one of its own", a.Request)
	case a.Key != first.asked.Key || a.Value != first.asked.Value || a.Token != first.asked.Token:
		failf("its retry writes %s=%s with the token %q, want %s=%s with %q", a.Key, a.Value, history.Decimal(a.Token), first.asked.Key, first.asked.Value, history.Decimal(first.asked.Token))
	}
	t.stores(again.asked, kv.Line{Op: history.OpWrite, Key: "key6", Value: "again", Scope: t.lock, Token: first.asked.Token})
}

func countAdds(t *trial) {
	c := t.start(0)
	const command = "count key7 3"
	c.tell(command)
	tenures := make(map[string]bool)
	for over := false; !over; {
		e := c.next(command)
		switch {
		case e.Kind == history.KindError:
			unable(command, e)
		case e.Kind == history.KindOK && e.Op == history.OpLock:
			tenures[e.Tenure] = true
		case e.Kind != history.KindInvoke && e.Kind != history.KindNote && e.Op == history.OpCount:
			if over = true; e.Kind != history.KindOK {
				failf("%q: the outcome is %q (%s), want ok", command, e.Kind, e.Text)
			}
		}
	}
	if read := c.ok("read key7"); read.outcome.Value != "3" {
		failf("it has counted to 3, and the key has %q", read.outcome.Value)
	}
	if len(tenures) < 3 {
		failf("it has added 3 times under %d tenures, want a lock for each", len(tenures))
	}
}
