package kv

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"sync"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Flaw is a way to check tokens that is wrong, and is known from real storages.
type Flaw string

const (
	// FlawDiffers is the rule of etcd's contrib/lock: a token that is not equal to the mark of its scope is
	// refused as stale, a newer one too. The next holder is locked out for ever.
	FlawDiffers Flaw = "differs"
	// FlawForgetful drops the mark of its scope with a key that is deleted: a stale write brings the key back.
	FlawForgetful Flaw = "forgetful"
)

// NewFlawed makes an empty Memory with a Flaw: deliberately wrong, the control of scenarios that show what the flaw
// does. Its marks obey no laws of package fencetest but those that the flaw leaves, and it has no floor.
func NewFlawed(flaw Flaw, o Options) *Memory {
	if observe := o.Observe; flaw == FlawForgetful && observe != nil {
		o.Observe = func(l Line) {
			if l.Op == OpDelete && l.Refused == "" {
				l.Mark = 0 // which has gone with the key
			}
			observe(l)
		}
	}
	m := NewMemory(o)
	m.flawed = &flawedMarks{Register: fence.Register{MaxScopes: o.MaxMarks}, flaw: flaw, marks: make(map[string]fence.Mark)}
	m.register = m.flawed
	return m
}

// flawedMarks are marks with a flaw, in place of those of a fence.Register.
type flawedMarks struct {
	fence.Register // without a mark or a floor
	flaw           Flaw
	deletes        bool // the operation under way does

	mu    sync.Mutex
	marks map[string]fence.Mark
}

// Do does op if the flaw lets c pass.
func (f *flawedMarks) Do(ctx context.Context, c fence.Claim, op func(context.Context) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	mark, known := f.marks[c.Scope]
	if f.flaw == FlawDiffers && known && c.Token > mark.Highest() {
		return &differsError{fence.StaleError{Scope: c.Scope, Token: c.Token, Mark: mark.Highest()}}
	}
	next, err := mark.Admit(c)
	if err != nil {
		return err
	}
	if !known && f.MaxScopes > 0 && len(f.marks) >= f.MaxScopes {
		return fence.ErrTooManyScopes
	}
	f.marks[c.Scope] = next
	if err := op(ctx); err != nil {
		return err
	}
	f.marks[c.Scope] = next.Done(c)
	if f.flaw == FlawForgetful && f.deletes {
		delete(f.marks, c.Scope)
	}
	return nil
}

func (f *flawedMarks) Mark(scope string) fence.Mark {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.marks[scope]
}

func (f *flawedMarks) Len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.marks)
}

func (f *flawedMarks) Marks() iter.Seq2[string, fence.Mark] {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.All(maps.Clone(f.marks))
}

// differsError is FlawDiffers' refusal of a newer token. It counts as a
// fence.StaleError, whose own words would say that the token is older.
type differsError struct{ stale fence.StaleError }

func (e *differsError) Error() string {
	return fmt.Sprintf("the storage is flawed and refuses newer tokens, too: %d in scope %q differs from the highest admitted, %d",
		e.stale.Token, e.stale.Scope, e.stale.Mark)
}

func (e *differsError) Unwrap() error { return &e.stale }
