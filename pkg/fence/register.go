package fence

import (
	"hash/maphash"
	"strings"
	"sync"
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

	shards [64]shard
}

// A shard holds some of the scopes. Its lock guards the map alone and is never
// held while an operation runs; the order is shard, then scope.
type shard struct {
	mu     sync.RWMutex
	scopes map[string]*scope
}

type scope struct {
	mu   sync.Mutex
	mark Mark
}

var seed = maphash.MakeSeed()

// Do runs op if c is admitted, and returns op's error, or a refusal
// (*StaleError, *AheadError, ErrNoToken, ErrInvalidToken, ErrInvalidSequence),
// ErrNoBound or ErrDuplicate; with those op did not run.
//
// The check and op are one step: while op runs, no other operation of the scope
// does. Operations of other scopes go on. op must not call Do with the same
// scope: it would wait for itself. A read that shows a token goes through Do as
// well and so raises the mark: afterwards no older write can land between that
// read and the write that it leads to.
//
// The mark is raised before op runs and stays where op fails or panics.
func (r *Register) Do(c Claim, op func() error) error {
	if r.Bound != nil && c.Token > r.Mark(c.Scope).Token {
		if err := c.CheckBound(r.Bound); err != nil {
			return err
		}
	}
	if !c.Token.Valid() || c.Sequence < 0 {
		// Refused whatever the mark is; a scope that only bad claims name must
		// not take up memory.
		_, err := Mark{}.Admit(c)
		return err
	}
	s := r.scope(c.Scope)
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.mark, err = s.mark.Admit(c); err != nil {
		return err
	}
	if err := op(); err != nil {
		return err
	}
	s.mark = s.mark.Done(c)
	return nil
}

// Mark returns the mark of a scope; zero where no token was admitted yet.
func (r *Register) Mark(name string) Mark {
	sh := r.shard(name)
	sh.mu.RLock()
	s := sh.scopes[name]
	sh.mu.RUnlock()
	if s == nil {
		return Mark{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mark
}

func (r *Register) shard(name string) *shard {
	return &r.shards[maphash.String(seed, name)%uint64(len(r.shards))]
}

func (r *Register) scope(name string) *scope {
	sh := r.shard(name)
	sh.mu.RLock()
	s := sh.scopes[name]
	sh.mu.RUnlock()
	if s != nil {
		return s
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if s := sh.scopes[name]; s != nil {
		return s
	}
	if sh.scopes == nil {
		sh.scopes = make(map[string]*scope)
	}
	s = new(scope)
	// A name is often a piece of a whole request, which must not live on with it.
	sh.scopes[strings.Clone(name)] = s
	return s
}
