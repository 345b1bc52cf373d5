package fencetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/fencelab/fencelab/pkg/fence"
)

// How a walk goes.
const (
	walkSteps = 400
	walkSeed  = 1 // the same requests each time, so that a store that fails fails again
	walkTells = 8 // requests before the one that came out wrong
)

// A walk is many requests at random, in scopes of their own, near the marks of their scopes.
// What each has to come to says fence.Mark.Admit.
type walk struct {
	sub    Subject
	rand   *rand.Rand
	stores []Store     // of processes that share their data
	bound  fence.Token // 0: none is known
	scopes []*walkScope
}

// walkScope is what a walk knows of a scope.
type walkScope struct {
	name   string
	mark   fence.Mark        // that it has to have
	values map[string]string // that its keys have to have
	made   []string          // the requests, for people
}

func (sub Subject) newWalk(first Store, bound fence.Token) *walk {
	w := &walk{sub: sub, rand: rand.New(rand.NewPCG(walkSeed, 0)), stores: []Store{first}, bound: bound}
	bases := []fence.Token{1, 2, 34, 1<<31 - 3, 1<<32 - 3, 1<<53 - 3}
	if bound != 0 {
		bases = []fence.Token{1, bound / 2, bound - 3, bound}
	}
	for i, base := range bases {
		w.scopes = append(w.scopes, &walkScope{
			name: fmt.Sprintf("walk-%d", i), values: make(map[string]string),
			mark: fence.Mark{Token: base}, // which the first write raises
		})
	}
	return w
}

func requestsInAnyOrder(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	if s.err != nil {
		return s.err
	}
	return sub.newWalk(s.store, 0).run(ctx, walkSteps)
}

func processesShareAnyOrder(ctx context.Context, sub Subject) error {
	one, two, err := sub.beginTwo(ctx)
	if err != nil {
		return err
	}
	w := sub.newWalk(one.store, 0)
	w.stores = append(w.stores, two.store)
	return w.run(ctx, walkSteps)
}

func restartKeepsAnyOrder(ctx context.Context, sub Subject) error {
	if sub.Restart == nil {
		return fmt.Errorf("%w: the store loses its data with the process", ErrNotApplicable)
	}
	s := begin(ctx, sub.open)
	if s.err != nil {
		return s.err
	}
	w := sub.newWalk(s.store, 0)
	for range restarts {
		if err := w.run(ctx, walkSteps/(restarts+1)); err != nil {
			return err
		}
		if s.restart(sub); s.err != nil {
			return s.err
		}
		w.stores[0] = s.store
		for _, scope := range w.scopes {
			if err := w.probe(ctx, scope); err != nil {
				return err
			}
		}
	}
	return w.run(ctx, walkSteps/(restarts+1))
}

func aheadInAnyOrder(ctx context.Context, sub Subject) error {
	s, err := sub.beginBounded(ctx)
	if err != nil {
		return err
	}
	if s.err != nil {
		return s.err
	}
	return sub.newWalk(s.store, bound).run(ctx, walkSteps)
}

// tokensOfAllCompareAsNumbers raises the mark with requests of each kind in turn, and asks with those of all kinds for what
// the mark before it admitted.
func tokensOfAllCompareAsNumbers(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	if s.err != nil {
		return s.err
	}
	kinds := []struct {
		op string
		fence.Claim
	}{{op: opWrite}, {op: opDelete}, {op: opRead}}
	if !sub.NoSequence {
		kinds = append(kinds, kinds[0], kinds[1])
		kinds[3].Sequence, kinds[4].Sequence = 1, 1
	}
	if !sub.NoShared {
		n := len(kinds)
		kinds = append(kinds, kinds[:3]...)
		for i := range 3 {
			kinds[n+i].Mode = fence.Shared
		}
	}
	w := sub.newWalk(s.store, 0)
	scope := &walkScope{name: lock, values: make(map[string]string)}
	before := fence.Token(1)
	for i, t := range telling() {
		for n := range len(kinds) + 1 {
			k := kinds[(i+n)%len(kinds)]
			k.Scope, k.Token = lock, before
			if n == 0 {
				k.Token = t
			}
			if err := w.request(ctx, scope, k.op, k.Claim, lock, t.String()); err != nil {
				return err
			}
		}
		before = t
	}
	return nil
}

// run makes so many requests, and reads without a token between them.
func (w *walk) run(ctx context.Context, steps int) error {
	for i := range steps {
		s := w.scopes[w.rand.IntN(len(w.scopes))]
		if len(s.made) == 0 {
			if err := w.request(ctx, s, opWrite, fence.Claim{Scope: s.name, Token: s.mark.Token}, s.name, "first"); err != nil {
				return err
			}
		}
		op := []string{opWrite, opWrite, opDelete, opRead}[w.rand.IntN(4)]
		key := s.name
		if w.rand.IntN(3) == 0 {
			key += "-other"
		}
		if err := w.request(ctx, s, op, w.claim(s, op), key, fmt.Sprintf("value-%d", i)); err != nil {
			return err
		}
		if w.rand.IntN(2) == 0 {
			if err := w.request(ctx, s, opRead, fence.Claim{Scope: s.name}, key, ""); err != nil {
				return err
			}
		}
		if w.rand.IntN(8) == 0 {
			if err := w.probe(ctx, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// probe makes the requests that the mark of a scope refuses, and a lower one admits.
func (w *walk) probe(ctx context.Context, s *walkScope) error {
	m := s.mark
	stale := []fence.Claim{{Token: m.Highest() - 1}, {Token: m.Token, Sequence: m.Sequence - 1}, {Token: m.Token, Sequence: m.Sequence}}
	if !w.sub.NoShared {
		stale = append(stale, fence.Claim{Token: m.Token - 1, Mode: fence.Shared})
	}
	for _, c := range stale {
		c.Scope = s.name
		if _, err := m.Admit(c); err == nil || !c.Token.Valid() || c.Sequence < 0 {
			continue
		}
		if err := w.request(ctx, s, opWrite, c, s.name, "stale"); err != nil {
			return err
		}
	}
	return nil
}

// claim is one that has at most one fault beside being stale, so that its refusal is one.
func (w *walk) claim(s *walkScope, op string) fence.Claim {
	step := []fence.Token{-2, -1, 0, 0, 0, 1, 2}[w.rand.IntN(7)]
	c := fence.Claim{Scope: s.name, Token: max(1, s.mark.Highest()+step)}
	switch w.rand.IntN(20) {
	case 0:
		c.Token = 0
		return c
	case 1:
		c.Token = -c.Token
		return c
	}
	if !w.sub.NoShared && w.rand.IntN(3) == 0 {
		c.Mode = fence.Shared
		return c
	}
	if !w.sub.NoSequence && op != opRead && w.rand.IntN(2) == 0 {
		c.Sequence = max(1, s.mark.Sequence+int64(w.rand.IntN(4)-1))
	}
	return c
}

// request makes a request of one of the processes, and judges what comes of it.
func (w *walk) request(ctx context.Context, s *walkScope, op string, c fence.Claim, key, value string) error {
	store := w.stores[w.rand.IntN(len(w.stores))]
	var got string
	var ok bool
	var err error
	switch op {
	case opWrite:
		err = store.Write(ctx, c, key, value)
	case opDelete:
		err = store.Delete(ctx, c, key)
	case opRead:
		got, ok, err = store.Read(ctx, c, key)
	}
	if errors.Is(err, ErrNotApplicable) {
		return nil
	}
	what := fmt.Sprintf("%s %s with %s", op, key, inWords(c))
	s.made = append(s.made, what)
	next, want := w.rule(s.mark, op, c)
	switch {
	case want == nil && err != nil:
		return s.wrong(err, fmt.Sprintf("got error %q, want it done", err))
	case errors.Is(want, fence.ErrDuplicate):
		if err != nil && !errors.Is(err, fence.ErrDuplicate) {
			return s.wrong(err, fmt.Sprintf("got error %q, want success or ErrDuplicate", err))
		}
		return nil
	case want != nil && !errors.Is(err, kind(want)):
		return s.wrong(err, fmt.Sprintf("got %v, want refusal %q", err, want))
	case want != nil:
		return nil
	}
	s.mark = next.Done(c)
	switch before, there := s.values[key]; {
	case op == opWrite:
		s.values[key] = value
	case op == opDelete:
		delete(s.values, key)
	case got != before || ok != there:
		return s.wrong(nil, fmt.Sprintf("got %q (there: %v), want %q (there: %v)", got, ok, before, there))
	}
	return nil
}

// rule is what the mark is afterwards, or why c is refused.
func (w *walk) rule(m fence.Mark, op string, c fence.Claim) (fence.Mark, error) {
	if op == opRead && c.Token == 0 {
		return m, nil
	}
	next, err := m.Admit(c)
	if err == nil && w.bound != 0 && c.Token > w.bound {
		return m, fence.ErrAhead
	}
	return next, err
}

// kind is the refusal that any refusal of its kind matches.
func kind(refusal error) error {
	for _, k := range []error{fence.ErrStale, fence.ErrNoToken, fence.ErrInvalidToken, fence.ErrAhead} {
		if errors.Is(refusal, k) {
			return k
		}
	}
	return refusal
}

// wrong is the error of the last request, with those before it. got is what the store said.
func (s *walkScope) wrong(got error, text string) error {
	last := len(s.made) - 1
	text = s.made[last] + ": " + text
	if before := s.made[max(0, last-walkTells):last]; len(before) > 0 {
		text += "; the requests before it: " + strings.Join(before, "; ")
	}
	return unwanted(text, got)
}
