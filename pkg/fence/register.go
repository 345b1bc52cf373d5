package fence

import (
	"context"
	"fmt"
	"hash/maphash"
	"iter"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
)

// Register keeps the marks of any number of scopes in memory and runs
// operations under them. The zero value is ready to use; a Register must not be
// copied. It is safe for concurrent use.
//
// Marks live as long as the Register: they go with the process, so a Register
// protects data that goes with the process too. A store that outlives the
// process keeps the mark in the same transaction as the data and judges it with
// Mark.Admit.
type Register struct {
	// Bound returns the highest token that the issuer can have given out for
	// the claim's scope. It is asked before a token above the mark is admitted,
	// outside of any lock. Where it returns an error, Do returns ErrNoBound. Nil:
	// no bound is known, and one huge token locks out all others. Set it before
	// first use.
	Bound func(Claim) (Token, error)
	// MaxScopes is how many scopes may have a mark of their own; Do refuses a
	// claim of one more with ErrTooManyScopes. 0: no limit. Set it before first
	// use.
	MaxScopes int

	floor  atomic.Int64 // a Token
	count  atomic.Int64 // of scopes
	shards [64]shard
}

// A shard holds some of the scopes. Its lock guards the map alone and is never
// held while an operation runs.
type shard struct {
	mu     sync.RWMutex
	scopes map[string]*scope
}

var seed = maphash.MakeSeed()

// Do runs op if c is admitted, and returns op's error, or a refusal
// (*StaleError, *AheadError, ErrNoToken, ErrInvalidToken, ErrInvalidSequence,
// ErrInvalidMode), ErrNoBound, ErrTooManyScopes or ErrDuplicate; with those op did not run.
//
// The check and op are one step: while op runs, no other operation of the scope
// does. Others wait for their turn, in the order in which they came. Where ctx is
// done before the turn comes, op does not run, and the error wraps that of ctx.
// Operations of other scopes go on. op must not call Do with the same scope, nor
// Raise: it would wait for itself. A read that shows a token goes through Do as
// well and so raises the mark: afterwards no older write can land between that
// read and the write that it leads to.
//
// The mark is raised also where op fails or panics.
func (r *Register) Do(ctx context.Context, c Claim, op func(context.Context) error) error {
	if r.Bound != nil && c.Token > r.Mark(c.Scope).Highest() {
		if err := c.CheckBound(r.Bound); err != nil {
			return err
		}
	}
	if c.Token < r.Floor() || c.check() != nil {
		// Refused whatever the mark is; a scope that only such claims name must
		// not take up memory.
		_, err := r.effective(Mark{}).Admit(c)
		return err
	}
	s, err := r.take(ctx, c.Scope)
	if err != nil {
		return err
	}
	defer s.give()
	mark, err := r.effective(s.told()).Admit(c)
	if err != nil {
		return err
	}
	defer func() { s.set(mark) }()
	if err := op(ctx); err != nil {
		return err
	}
	mark = mark.Done(c)
	return nil
}

// Mark returns the mark of a scope; where it has none of its own the floor, and
// zero where there is none. It does not wait for an operation under way: till that
// is over it tells the mark of before.
func (r *Register) Mark(name string) Mark {
	s := r.shard(name).get(name)
	if s == nil {
		return r.effective(Mark{})
	}
	return r.effective(s.told())
}

// Floor is the mark of all scopes that have none of their own; see Raise.
func (r *Register) Floor() Token { return Token(r.floor.Load()) }

// Raise makes floor the lowest token that any scope admits, and drops the marks
// below, which say nothing any more: it says how many. A floor never goes down,
// so marks don't. When Raise returns no operation below floor is under way.
//
// Marks of scopes that nobody uses any more cost memory, and dropping one alone
// would let its old holders in again. A floor is right where one issuer gives out
// the tokens of all scopes, and says that no live tenure has a lower one; see
// Oldest of package etcdlock.
func (r *Register) Raise(floor Token) (dropped int) {
	for old := r.floor.Load(); int64(floor) > old; old = r.floor.Load() {
		if r.floor.CompareAndSwap(old, int64(floor)) {
			break
		}
	}
	for i := range r.shards {
		sh := &r.shards[i]
		for name, s := range sh.all() {
			// The shard is not locked while this waits for an operation, which may
			// need it.
			if r.drop(s, floor) {
				sh.remove(name, s)
				dropped++
			}
		}
	}
	return dropped
}

// drop waits for the operation under way, and drops the mark of s if it is below
// floor.
func (r *Register) drop(s *scope, floor Token) bool {
	_ = s.take(context.Background()) // which is never done
	defer s.give()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dropped || s.mark.Highest() >= floor {
		return false
	}
	s.dropped = true
	r.count.Add(-1)
	return true
}

// Len is how many scopes have a mark of their own.
func (r *Register) Len() int { return int(r.count.Load()) }

// Marks are the scopes that have a mark of their own, in no order. Operations go
// on meanwhile; each mark is one that its scope had.
func (r *Register) Marks() iter.Seq2[string, Mark] {
	return func(yield func(string, Mark) bool) {
		for i := range r.shards {
			for name, s := range r.shards[i].all() {
				s.mu.Lock()
				m, gone := s.mark, s.dropped || s.mark == Mark{}
				s.mu.Unlock()
				if !gone && !yield(name, r.effective(m)) {
					return
				}
			}
		}
	}
}

// effective is what counts for a scope whose own mark is m.
func (r *Register) effective(m Mark) Mark { return m.Max(Mark{Token: r.Floor()}) }

// take returns the scope of a name when it is the caller's alone. A ctx that is done is no
// reason to add one: nobody would ever give it a mark.
func (r *Register) take(ctx context.Context, name string) (*scope, error) {
	if err := ctx.Err(); err != nil {
		return nil, notRun(name, err)
	}
	sh := r.shard(name)
	for {
		s := sh.get(name)
		if s == nil {
			var err error
			if s, err = r.add(sh, name); err != nil {
				return nil, err
			}
		}
		if err := s.take(ctx); err != nil {
			return nil, notRun(name, err)
		}
		if !s.dropped { // which only whoever has the scope changes
			return s, nil
		}
		s.give()
		sh.remove(name, s)
	}
}

func notRun(scope string, err error) error {
	return Definite.Wrap(fmt.Errorf("%w, in scope %q: %w", errNotRun, scope, err))
}

func (r *Register) shard(name string) *shard {
	return &r.shards[maphash.String(seed, name)%uint64(len(r.shards))]
}

// add returns the scope of a name, new or not.
func (r *Register) add(sh *shard, name string) (*scope, error) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if s := sh.scopes[name]; s != nil {
		return s, nil
	}
	if n := r.count.Add(1); r.MaxScopes > 0 && n > int64(r.MaxScopes) {
		r.count.Add(-1)
		return nil, fmt.Errorf("%w: %d", ErrTooManyScopes, r.MaxScopes)
	}
	if sh.scopes == nil {
		sh.scopes = make(map[string]*scope)
	}
	s := new(scope)
	// A name is often a piece of a whole request, which must not live on with it.
	sh.scopes[strings.Clone(name)] = s
	return s, nil
}

func (sh *shard) get(name string) *scope {
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	return sh.scopes[name]
}

func (sh *shard) all() map[string]*scope {
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	return maps.Clone(sh.scopes)
}

// remove forgets s, unless its name has become another one's.
func (sh *shard) remove(name string, s *scope) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.scopes[name] == s {
		delete(sh.scopes, name)
	}
}
