package redislock

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// random is a name that no tenure ever had, with the words of its holder.
func random(ctx context.Context, _ fence.Mode) string {
	if words := lock.Words(ctx); words != "" {
		return rand.Text() + " " + words
	}
	return rand.Text()
}

// Inspect is as lock.Inspector says. It tells no token of a reader: Redis keeps none. Only the
// locks of New with Fair and those of RedissonFair have a queue that Redis knows. Of a Quorum
// it tells the owner that most of the nodes have.
func (e *Exclusive) Inspect(ctx context.Context, scope string) (lock.State, error) {
	l := e.locker
	if l == nil {
		return lock.State{}, errZero
	}
	if scope == "" {
		return lock.State{}, fmt.Errorf("redislock: inspect: %w", errEmpty)
	}
	r := cmp.Or(l.recipes[fence.Shared], l.recipes[fence.Exclusive])
	t := r.ticket(l.options, scope, "", fence.Shared, false)
	state, err := begin(ctx, l.crew, func() (lock.State, error) { return l.service.inspect(ctx, t, l.ttl) }).within(ctx)
	if err != nil {
		return lock.State{}, fence.Definite.Wrap(fmt.Errorf("redislock: inspect %q: %w", scope, err))
	}
	return state, nil
}

func (n *node) inspect(ctx context.Context, t ticket, ttl time.Duration) (lock.State, error) {
	said, err := n.run(ctx, t.recipe.inspect, t, ttl, "").Slice()
	if err != nil {
		return lock.State{}, err
	}
	state := lock.State{Queue: t.recipe.queues}
	for i, parties := range []*[]lock.Party{&state.Holders, &state.Waiters} {
		if len(said) != 2 {
			return lock.State{}, fmt.Errorf("the script said %v, and this is no Redis", said)
		}
		list, _ := said[i].([]any)
		for _, one := range list {
			party, err := parseParty(t.scope, one)
			if err != nil {
				return lock.State{}, err
			}
			*parties = append(*parties, party)
		}
	}
	return state, nil
}

// parseParty reads {owner, mode, token, ms that are left}.
func parseParty(scope string, one any) (p lock.Party, err error) {
	said, _ := one.([]any)
	if len(said) != 4 {
		return p, fmt.Errorf("the script said %v, and this is no Redis", one)
	}
	token, err1 := strconv.ParseInt(fmt.Sprint(said[2]), 10, 64)
	left, err2 := strconv.ParseInt(fmt.Sprint(said[3]), 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return p, fmt.Errorf("the script said %v, and this is no Redis: %w", one, err)
	}
	p.Grant = lock.Grant{Scope: scope, Owner: fmt.Sprint(said[0]), Token: fence.Token(token)}
	if said[1] == fence.Shared.String() {
		p.Mode = fence.Shared
	}
	_, words, _ := strings.Cut(p.Owner, " ")
	p.Words = strings.ToValidUTF8(words, "\uFFFD")
	p.Left = time.Duration(max(left, 0)) * time.Millisecond // -1: it has no end
	return p, nil
}

// inspect tells the owner that most nodes have, and how long most of them have it.
func (q *quorum) inspect(ctx context.Context, t ticket, ttl time.Duration) (lock.State, error) {
	type answer struct {
		lock.State
		err error
	}
	answers := make(chan answer, len(q.nodes))
	ask := within(ctx, q.crew, ttl/10, func(ctx context.Context, n *node) (lock.State, error) { return n.inspect(ctx, t, ttl) })
	for _, n := range q.nodes {
		go func() {
			state, err := ask(n)
			answers <- answer{state, err}
		}()
	}
	var errs []error
	owners := make(map[string][]lock.Party)
	for range q.nodes {
		a := <-answers
		if a.err != nil {
			errs = append(errs, a.err)
		}
		for _, h := range a.Holders {
			owners[h.Owner] = append(owners[h.Owner], h)
		}
	}
	for _, on := range owners {
		if q.decide(len(on)) {
			slices.SortFunc(on, func(a, b lock.Party) int { return cmp.Compare(b.Left, a.Left) })
			return lock.State{Holders: []lock.Party{on[len(q.nodes)/2]}}, nil
		}
	}
	if n := len(q.nodes) - len(errs); !q.decide(n) {
		return lock.State{}, fmt.Errorf("%d of %d nodes answered: %w", n, len(q.nodes), errors.Join(errs...))
	}
	return lock.State{}, nil
}
