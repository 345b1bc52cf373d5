package kv

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

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

// Flawed is Memory with a Flaw: deliberately wrong, the control of scenarios that
// show what the flaw does. Its marks are its own and obey no laws of package
// fencetest but those that the flaw leaves.
type Flawed struct {
	*Memory // its values; none of its marks
	flaw    Flaw

	rule  sync.Mutex // one operation at a time: it is not there to be fast
	marks map[string]fence.Mark
}

// NewFlawed makes an empty engine with a flaw.
func NewFlawed(flaw Flaw, o Options) *Flawed {
	if observe := o.Observe; flaw == FlawForgetful && observe != nil {
		o.Observe = func(r Record) {
			if r.Op.Kind == OpDelete && r.Err == nil {
				r.Mark = 0 // which has gone with the key
			}
			observe(r)
		}
	}
	return &Flawed{Memory: NewMemory(o), flaw: flaw, marks: make(map[string]fence.Mark)}
}

// Write implements Engine.
func (f *Flawed) Write(_ context.Context, req Request, ops ...Op) error {
	return f.do(req, ops, func() error { return f.apply(req, ops) })
}

// Read implements Engine.
func (f *Flawed) Read(ctx context.Context, req Request, key string) (item Item, err error) {
	if req.Token == 0 {
		return f.Memory.Read(ctx, req, key)
	}
	var ok bool
	req.Sequence = 0 // as for Memory
	err = f.do(req, []Op{{Kind: OpRead, Key: key}}, func() error { item, ok = f.look(req, key); return nil })
	if err == nil && !ok {
		err = ErrNotFound
	}
	return item, err
}

// do does op, one of ops, if the flaw admits the claim of req. Otherwise it tells the
// observer.
func (f *Flawed) do(req Request, ops []Op, op func() error) error {
	err := f.account.checkBound(f.Mark, req.Claim)
	f.rule.Lock()
	defer f.rule.Unlock()
	if err == nil {
		err = f.admit(req, ops, op)
	}
	if err != nil {
		f.notDone(req, err, ops)
	}
	return err
}

// admit does op if the flaw lets the claim of req pass; the caller holds f.rule.
func (f *Flawed) admit(req Request, ops []Op, op func() error) error {
	mark, known := f.marks[req.Scope]
	if f.flaw == FlawDiffers && known && req.Token > mark.Highest() {
		return &differsError{fence.StaleError{Scope: req.Scope, Token: req.Token, Mark: mark.Highest()}}
	}
	next, err := mark.Admit(req.Claim)
	if err != nil {
		return err
	}
	if !known && f.account.MaxMarks > 0 && len(f.marks) >= f.account.MaxMarks {
		return f.account.tooManyMarks()
	}
	f.marks[req.Scope] = next
	if err := op(); err != nil {
		return err
	}
	f.marks[req.Scope] = next.Done(req.Claim)
	if f.flaw == FlawForgetful && slices.ContainsFunc(ops, func(o Op) bool { return o.Kind == OpDelete }) {
		delete(f.marks, req.Scope)
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

// Mark implements Engine.
func (f *Flawed) Mark(_ context.Context, scope string) (fence.Mark, error) {
	f.rule.Lock()
	defer f.rule.Unlock()
	return f.marks[scope], nil
}

// Raise returns an error: there is no floor.
func (f *Flawed) Raise(context.Context, fence.Token) (int, error) {
	return 0, fence.Definite.Wrap(fmt.Errorf("%w: a storage with the flaw %q has no floor", errors.ErrUnsupported, f.flaw))
}

// Stats implements Engine.
func (f *Flawed) Stats(ctx context.Context) (Stats, error) {
	f.rule.Lock()
	defer f.rule.Unlock()
	s, err := f.Memory.Stats(ctx)
	s.Marks = int64(len(f.marks))
	return s, err
}

// Snapshot implements Engine.
func (f *Flawed) Snapshot(_ context.Context, visit func(Entry) error) error {
	f.snapshot.Lock()
	defer f.snapshot.Unlock()
	marks := f.freeze()
	defer f.end()
	return f.visitAll(0, marks, visit)
}

// freeze begins a snapshot of the values, and returns the marks of the same moment.
func (f *Flawed) freeze() (marks []scopeMark) {
	f.rule.Lock()
	defer f.rule.Unlock()
	f.beginItems()
	for scope, mark := range f.marks {
		marks = append(marks, scopeMark{scope, mark})
	}
	return marks
}
