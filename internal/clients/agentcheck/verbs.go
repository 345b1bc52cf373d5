package agentcheck

import (
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/storage/kv"
)

func deleteIsSent(t *trial) {
	c, lock := t.holder()
	c.ok("write key2=1")
	did := t.stored(c.ok("delete key2").asked)
	want := kv.Line{Op: history.OpDelete, Key: "key2", Scope: t.lock, Token: lock.outcome.Token}
	if got := (kv.Line{Op: did.Op, Key: did.Key, Scope: did.Scope, Token: did.Token}); got != want {
		t.failf("the storage was asked for %s, want %s", inWords(got), inWords(want))
	}
	if !c.ok("read key2").outcome.Missing {
		t.failf("it has deleted the key, and its read does not say that it is missing")
	}
}

func changeIsSent(t *trial) {
	c, lock := t.holder()
	want := map[string]string{"key3": "1", "key4": "2"}
	change := c.ok("change key3=1 key4=2")
	if n := len(change.asked.Changes); n != len(want) {
		t.failf("the invoke of its change names %d changes, want %d", n, len(want))
	}
	if change.asked.Op == history.OpWrite { // by --change singly
		c.outcome("change")
	}
	if did := t.stored(change.asked); did.Scope != t.lock || did.Token != lock.outcome.Token {
		t.failf("the storage was asked in the scope %q with the token %d, want %q and %d", did.Scope, did.Token, t.lock, lock.outcome.Token)
	}
	for key, value := range want {
		if read := c.ok("read " + key); read.outcome.Value != value {
			t.failf("after its change %s has %q, want %q", key, read.outcome.Value, value)
		}
	}
}

// sendIsInBackground has the storage stand still while the client sends.
func sendIsInBackground(t *trial) {
	c, _ := t.holder()
	var sent answer
	t.need(t.stage.StorageStill(func() error {
		return t.try(func() {
			sent = c.sends("send write key5=sent")
			c.do("lock")
		})
	}))
	var err error
	if sent.outcome, err = c.hear(); err != nil {
		t.failf("waiting for the outcome of what it sent: %w", err)
	}
	t.need(sent.check("send"))
	if sent.outcome.Kind != history.KindOK {
		t.failf("the storage has answered, and what it sent ends as %q, want ok", sent.outcome.Kind)
	}
	t.stored(sent.asked)
}

// retryAsksAgain has the storage stand still until the client does not wait any more.
func retryAsksAgain(t *trial) {
	c, _ := t.holder()
	var first answer
	t.need(t.stage.StorageStill(func() error {
		return t.try(func() { first = c.do("write key6=again") })
	}))
	if first.outcome.Kind != history.KindUnknown {
		t.failf("the storage did not answer, and its write ends as %q, want unknown", first.outcome.Kind)
	}
	again := c.ok("retry")
	switch a := again.asked; {
	case a.RetryOf != first.asked.Request:
		t.failf("the retry_of of its retry is %q, want the first request, %q", a.RetryOf, first.asked.Request)
	case a.Request == first.asked.Request:
		t.failf("its retry has the request %q of the first attempt, want one of its own", a.Request)
	case a.Key != first.asked.Key || a.Value != first.asked.Value || a.Token != first.asked.Token:
		t.failf("its retry writes %s=%s with the token %q, want %s=%s with %q", a.Key, a.Value, text(a), first.asked.Key, first.asked.Value, text(first.asked))
	}
	t.stored(again.asked)
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
			t.need(&unableError{command, e.Text})
		case e.Kind == history.KindOK && e.Op == history.OpLock:
			tenures[e.Tenure] = true
		case e.Kind != history.KindInvoke && e.Kind != history.KindNote && e.Op == history.OpCount:
			if over = true; e.Kind != history.KindOK {
				t.failf("%q: the outcome is %q (%s), want ok", command, e.Kind, e.Text)
			}
		}
	}
	if read := c.ok("read key7"); read.outcome.Value != "3" {
		t.failf("it has counted to 3, and the key has %q", read.outcome.Value)
	}
	if len(tenures) < 3 {
		t.failf("it has added 3 times under %d tenures, want a lock for each", len(tenures))
	}
}
