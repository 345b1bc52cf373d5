package agent

import (
	"fmt"

	"github.com/fencelab/fencelab/internal/history"
)

// pend takes in what came of a request that is part of the transaction which has the lock. It
// is not done before the unlock has committed the transaction: until then the agent notes it.
// The caller holds a.mu.
func (a *agent) pend(h *held, answer history.Event) history.Event {
	h.transaction = true
	if answer.Kind != history.KindOK {
		a.print(answer)
		answer.Reason = history.ReasonLost // the transaction is over, and what it did is undone
		return answer
	}
	h.pending = append(h.pending, answer)
	note := answer
	note.Kind = history.KindNote
	note.Text = fmt.Sprintf("in %s's transaction, not committed yet: %s%s", a.Name, describe(answer), found(answer))
	a.print(note)
	if h.told {
		a.settle(h, history.KindFail)
	}
	return answer
}

// settle reports what became of the requests that were part of a tenure's transaction, which has
// ended as its unlock has. The caller holds a.mu.
func (a *agent) settle(h *held, end history.Kind) {
	for _, e := range h.pending {
		if e.Kind = end; end != history.KindOK {
			e.Text = "its transaction has ended, and was not committed"
		}
		if end == history.KindUnknown {
			e.Text = "whether its transaction was committed is not known"
		}
		if end != history.KindOK && e.Op == history.OpRead {
			e.Value, e.Missing = "", false
		}
		a.print(e)
	}
	h.pending = nil
}
