package agentcheck

import (
	"errors"

	"github.com/fencelab/fencelab/internal/history"
)

// paused stops the client right before a write until its lease has run out and another client
// has written, and lets it write.
func (t *trial) paused() (c *client, late answer, mark history.Event) {
	other := t.other() // first: the lease is short, and a program may take long to start
	c, lock := t.holder()
	c.begin("write key0=late")
	t.need(c.process.Pause())
	err := t.try(func() {
		t.ended(lock.outcome.Tenure)
		mark = other.ok("lock").outcome
		other.ok("write key0=new")
	})
	t.need(errors.Join(err, c.process.Resume()))
	late = c.do("finish")
	if text(late.asked) != text(lock.outcome) {
		t.failf("its write shows the token %q, and its grant has %q", text(late.asked), text(lock.outcome))
	}
	return c, late, mark
}

func lateWriteIsSent(t *trial) {
	_, late, mark := t.paused()
	t.stored(late.asked)
	o := late.outcome
	switch {
	case !t.tokens && o.Kind != history.KindOK:
		t.failf("the storage checks nothing, and the late write ends as %q, want ok", o.Kind)
	case t.tokens && (o.Kind != history.KindFail || o.Reason != "stale" || o.Mark != mark.Token):
		t.failf("the storage refused the late write as stale, with the mark %d, and it says %q with the reason %q and the mark %d",
			mark.Token, o.Kind, o.Reason, o.Mark)
	}
}

func lossIsTold(t *trial) {
	c, late, _ := t.paused()
	if len(c.lost) > 0 {
		t.failf("it says lost before the outcome of what it had begun")
	}
	for {
		e, err := c.hear()
		switch {
		case err != nil:
			t.failf("waiting for lost: %w", err)
		case e.Kind == history.KindLost && e.Tenure != late.asked.Tenure:
			t.failf("it lost the tenure %q, and says %q", late.asked.Tenure, e.Tenure)
		case e.Kind == history.KindLost:
			return
		}
	}
}
