package kv

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Flaw is a way to check tokens that is wrong, and is known from real storages.
type Flaw string

const (
	// FlawDiffers is the rule of etcd's contrib/lock: a token that is not equal to
	// the mark of its scope is refused as stale, a newer one too. The next holder is
	// locked out for ever.
	FlawDiffers Flaw = "differs"
	// FlawForgetful drops the mark of its scope with a key that is deleted: a stale
	// write brings the key back.
	FlawForgetful Flaw = "forgetful"
)

// NewFlawed makes an empty Memory with a Flaw: deliberately wrong, the control of scenarios
// that show what the flaw does. Its marks obey no laws of package fencetest but those that the
// flaw leaves, and it has no floor.
func NewFlawed(flaw Flaw, o Options) *Memory {
	if observe := o.Observe; flaw == FlawForgetful && observe != nil {
		o.Observe = func(r Record) {
			if r.Op.Kind == OpDelete && r.Err == nil {
				r.Mark = 0 // which has gone with the key
			}
			observe(r)
		}
	}
	m := NewMemory(o)
	m.register.flawed = &flawedMarks{flaw: flaw, max: o.MaxMarks}
	return m
}

// register keeps the marks of a Memory.
type register struct {
	fence.Register
	flawed *flawedMarks // in place of those of Register; nil: they have no flaw
}

func (r *register) Do(ctx context.Context, c fence.Claim, op func(context.Context) error) error {
	if r.flawed != nil {
		return r.flawed.do(ctx, c, op)
	}
	return r.Register.Do(ctx, c, op)
}

func (r *register) Mark(scope string) fence.Mark {
	if r.flawed != nil {
		mark, _ := r.flawed.mark(scope)
		return mark
	}
	return r.Register.Mark(scope)
}

func (r *register) Len() int {
	if r.flawed != nil {
		return int(r.flawed.count.Load())
	}
	return r.Register.Len()
}

func (r *register) Marks() iter.Seq2[string, fence.Mark] {
	if r.flawed == nil {
		return r.Register.Marks()
	}
	return func(yield func(string, fence.Mark) bool) {
		r.flawed.marks.Range(func(scope, mark any) bool { return yield(scope.(string), mark.(fence.Mark)) })
	}
}

// flawedMarks are marks with a flaw.
type flawedMarks struct {
	flaw    Flaw
	max     int          // as fence.Register.MaxScopes
	marks   sync.Map     // of fence.Mark, by scope
	count   atomic.Int64 // of marks
	deletes bool         // the operation under way does
}

func (f *flawedMarks) mark(scope string) (mark fence.Mark, known bool) {
	v, known := f.marks.Load(scope)
	mark, _ = v.(fence.Mark)
	return mark, known
}

// do does op if the flaw lets c pass. Calls must not overlap.
func (f *flawedMarks) do(ctx context.Context, c fence.Claim, op func(context.Context) error) error {
	mark, known := f.mark(c.Scope)
	if f.flaw == FlawDiffers && known && c.Token > mark.Highest() {
		return &differsError{fence.StaleError{Scope: c.Scope, Token: c.Token, Mark: mark.Highest()}}
	}
	next, err := mark.Admit(c)
	if err != nil {
		return err
	}
	if !known {
		if f.max > 0 && f.count.Load() >= int64(f.max) {
			return fence.ErrTooManyScopes
		}
		f.count.Add(1)
	}
	f.marks.Store(c.Scope, next)
	if err := op(ctx); err != nil {
		return err
	}
	f.marks.Store(c.Scope, next.Done(c))
	if f.flaw == FlawForgetful && f.deletes {
		f.marks.Delete(c.Scope)
		f.count.Add(-1)
	}
	return nil
}

// differsError is FlawDiffers' refusal of a newer token. It counts as a
// fence.StaleError, whose own words would say that the token is older.
type differsError struct{ stale fence.StaleError }

func (e *differsError) Error() string {
	return fmt.Sprintf("the storage is flawed and refuses newer tokens, too: %d in scope %q differs from the highest admitted, %d",
		e.stale.Token, e.stale.Scope, e.stale.Mark)
}

func (e *differsError) Unwrap() error { return &e.stale }
