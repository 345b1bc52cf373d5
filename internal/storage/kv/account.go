package kv

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// Options of an engine, set before it is used.
type Options struct {
	// Unfenced: tokens are not checked. The control, to see what goes wrong.
	Unfenced bool
	// Observing: tokens are checked, and what would be refused is done all the same, and told, as fence.Observe
	// has it. For Memory alone.
	Observing bool
	// Bound tells the last token that was issued, as in fence.Register.
	Bound func(fence.Claim) (fence.Token, error)
	// MaxKeys is how many keys may have a value, MaxMarks how many scopes a mark of their own. A request that
	// needs one more is refused with a *LimitError. 0: no limit.
	MaxKeys, MaxMarks int
	// Committed is told of every transaction of an engine that makes them durable. Nil: nobody wants to know.
	Committed func(Commit)
	// Observe is told of every operation that took place, was refused or was known as a duplicate, in the
	// order in which they were. It is called under the engine's lock. Nil: nobody wants to know.
	Observe func(Line)
}

// room refuses ops that would make too many keys of keys. known says which there are before.
func (o *Options) room(keys int64, ops []Op, known func(key string) bool) error {
	if o.MaxKeys == 0 {
		return nil
	}
	last := make(map[string]string, len(ops)) // what is done to each key in the end
	for _, op := range ops {
		last[op.Key] = op.Kind
	}
	var more int64
	for key, kind := range last {
		switch was := known(key); {
		case !was && kind == OpWrite:
			more++
		case was && kind != OpWrite:
			more--
		}
	}
	if more <= 0 || keys+more <= int64(o.MaxKeys) { // a file may have more from before
		return nil
	}
	return &LimitError{Limit: LimitKeys, Max: int64(o.MaxKeys), Say: "delete some, or raise --max-keys"}
}

func (o *Options) tooManyMarks() error {
	return &LimitError{Limit: LimitMarks, Max: int64(o.MaxMarks), Say: "raise the floor, which drops old ones, or --max-marks"}
}

// checkBound asks the issuer about a token above the mark, which mark tells. It may
// take its time: call it outside of any transaction and lock.
func (o *Options) checkBound(mark func(context.Context, string) (fence.Mark, error), c fence.Claim) error {
	if o.Bound == nil || o.Unfenced || o.Observing { // an engine that observes has its marks ask
		return nil
	}
	m, err := mark(context.Background(), c.Scope)
	if err != nil || c.Token <= m.Highest() {
		return err
	}
	return c.CheckBound(o.Bound)
}

// Commit is a transaction that was made durable, or not.
type Commit struct {
	Operations int           // that shared it
	Took       time.Duration // all of it
	Sync       time.Duration // to write its pages and sync them to the disk; 0 where the engine cannot tell
	Err        error
}

// account is what an engine tells its observer.
type account struct {
	Options
	// order makes the observer's order that of the operations; only taken where there is an observer.
	order sync.Mutex
	index int64 // of the last line; guarded by order
}

// ordered has what the caller does until done, and tells, come in the observer's order.
func (a *account) ordered() (done func()) {
	if a.Observe == nil {
		return func() {}
	}
	a.order.Lock()
	return a.order.Unlock
}

// tell says what became of ops: err is nil, ErrNotFound for a read that found nothing,
// fence.ErrDuplicate, or a refusal, which only would have been one where tokens are observed. What did not take place for another reason is no news.
func (a *account) tell(req Request, ops []Op, err error) {
	if a.Observe == nil {
		return
	}
	l := Line{
		ID: req.ID, Scope: req.Scope, Token: req.Token, Sequence: req.Sequence, Mode: req.Mode,
		Missing: errors.Is(err, ErrNotFound), Duplicate: errors.Is(err, fence.ErrDuplicate),
	}
	if err != nil && !l.Missing && !l.Duplicate {
		if l.Refused = fencehttp.ReasonOf(err); l.Refused == "" {
			return
		}
		l.Error = err.Error()
		if stale, ok := errors.AsType[*fence.StaleError](err); ok {
			l.Mark = stale.Mark
		}
		if a.Observing {
			l.Would, l.Refused, l.Mark = l.Refused, "", 0
		}
	} else if !a.Unfenced && req.Mode == fence.Exclusive {
		l.Mark = req.Token // what was admitted is the mark; a shared one may be higher
	}
	for _, op := range ops {
		a.index++
		l.Index, l.Op, l.Key, l.Value = a.index, op.Kind, op.Key, op.Value
		a.Observe(l)
	}
}
