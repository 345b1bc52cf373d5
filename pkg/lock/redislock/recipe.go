package redislock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/pkg/fence"
)

// recipe is how a lock stands in Redis. Its scripts get the same keys, and these
// arguments: owner, TTL in ms, channel, name of the call, mode, and what is extra. The name
// of a call that takes a lock says whether it waits.
//
// take returns {1, token}, or {0, ms after which to ask again though nobody was woken};
// renew returns 1, or 0 where the lock is not the owner's; free returns 1, or 0 where there
// was nothing to free.
type recipe struct {
	take, renew, free *redis.Script
	keys              func(options, ticket) []string
	channel           func(options, ticket) string // wakes those who wait
	extra             string
	poll              time.Duration // not 0: who waits asks so often, because a holder may wake nobody
	named             bool          // a message may have the owner who is to be woken
	queues            bool          // who waits has a place in Redis, which free takes back
}

// ticket is what an attempt asks for.
type ticket struct {
	scope string
	owner string
	mode  fence.Mode
	wait  bool
}

// answer is what Redis says to an attempt.
type answer struct {
	granted bool
	token   fence.Token
	// again is after which time one that waits asks again, though it was not woken. With an
	// error: 0 is never.
	again time.Duration
}

// node is one Redis.
type node struct {
	client  redis.UniversalClient
	waiters *waiters
	recipes map[fence.Mode]recipe
	options options
}

func newNode(client redis.UniversalClient, recipes map[fence.Mode]recipe, o options) *node {
	return &node{client: client, waiters: newWaiters(client), recipes: recipes, options: o}
}

func (n *node) valid(ttl time.Duration) time.Duration { return ttl }

func (n *node) take(ctx context.Context, t ticket, ttl time.Duration) (answer, error) {
	r := n.recipes[t.mode]
	said, err := n.run(ctx, r.take, t, ttl, strconv.FormatBool(t.wait)).Slice()
	if err != nil {
		return answer{}, err
	}
	a, err := parse(said)
	if a.again <= 0 || a.again > ttl { // a lease without end, or one that is longer than ours: nobody may tell of its end
		a.again = ttl
	}
	if r.poll > 0 {
		a.again = min(a.again, r.poll)
	}
	return a, err
}

// parse reads what the script said that takes a lock.
func parse(said []any) (a answer, err error) {
	if len(said) != 2 {
		return a, fmt.Errorf("the script said %v, and this is no Redis", said)
	}
	number, err := strconv.ParseInt(fmt.Sprint(said[1]), 10, 64)
	if err != nil {
		return a, fmt.Errorf("the script said %v, and this is no Redis: %w", said, err)
	}
	if said[0] == int64(1) {
		return answer{granted: true, token: fence.Token(number)}, nil
	}
	return answer{again: time.Duration(number)*time.Millisecond + again}, nil
}

// again is how long after the end of a lease a waiter asks for the lock.
const again = time.Millisecond

func (n *node) renew(ctx context.Context, t ticket, ttl time.Duration) (bool, error) {
	return n.run(ctx, n.recipes[t.mode].renew, t, ttl, "").Bool()
}

func (n *node) free(ctx context.Context, t ticket, ttl time.Duration, call string) (bool, error) {
	return n.run(ctx, n.recipes[t.mode].free, t, ttl, call).Bool()
}

func (n *node) run(ctx context.Context, s *redis.Script, t ticket, ttl time.Duration, call string) *redis.Cmd {
	r := n.recipes[t.mode]
	return s.Run(ctx, n.client, r.keys(n.options, t),
		t.owner, ttl.Milliseconds(), r.channel(n.options, t), call, t.mode.String(), r.extra)
}

func (n *node) queues(t ticket) bool { return n.recipes[t.mode].queues }

func (n *node) listen(t ticket) *waiter {
	r := n.recipes[t.mode]
	owner := ""
	if r.named {
		owner = t.owner
	}
	return n.waiters.join(r.channel(n.options, t), owner, t.mode == fence.Shared)
}

// refused reports whether err is Redis's word that it did nothing.
func refused(err error) bool {
	said := redis.Error(nil)
	return errors.As(err, &said)
}
