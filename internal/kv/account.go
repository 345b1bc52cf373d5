package kv

import (
	"errors"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// Options of an engine, set before it is used.
type Options struct {
	// Unfenced: tokens are not checked. The control, to see what goes wrong.
	Unfenced bool
	// Bound is that of fence.Register.
	Bound func(fence.Claim) (fence.Token, error)
	// Observe is told of every operation that took place or was refused, in the
	// order in which they did. It is called under the engine's lock. Nil: nobody
	// wants to know.
	Observe func(Record)
}

// account is what an engine tells its observer, in order. Calls must not
// overlap.
type account struct {
	Options
	index int64 // of the last record
}

// tell says what became of an operation: err is nil, ErrNotFound for a read that
// found nothing, or a refusal. What did not take place for another reason, as a
// duplicate, is no news.
func (a *account) tell(req Request, op Op, err error) {
	r := Record{Request: req, Op: op, Missing: errors.Is(err, ErrNotFound)}
	if !r.Missing {
		r.Err = err
	}
	if a.Observe == nil || r.Err != nil && fencehttp.ReasonOf(r.Err) == "" {
		return
	}
	a.index++
	r.Index = a.index
	if r.Err == nil && !a.Unfenced {
		r.Mark = req.Token // what was admitted is the mark
	}
	a.Observe(r)
}
