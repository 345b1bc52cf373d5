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

// recipe is how a lock stands in Redis. Its scripts have the same keys, and these
// arguments: owner, TTL in ms, channel, name of the call, mode, and what is extra. The name
// of a call that takes a lock is "true" if the call waits, and else "false"; that of a renewal is
// its change.
//
// take returns the token, 0 where there is none, or {ms after which to ask again though nobody was woken};
// renew returns 1, or 0 where the lock is not the owner's; free returns 1, or 0 where there
// was nothing to free. The name of a call that frees is "OWNER#" and a number, and Redis keeps
// the last one: so a request is known that comes again, or after its tenure.
type recipe struct {
	take, renew, free, inspect script

	clock   script // takes a lock with ClockTokens; there is one where take has a counter
	keys    func(options, ticket) []string
	channel func(options, ticket) string // wakes those who wait
	extra   []any
	poll    time.Duration // not 0: who waits asks so often, because a holder may wake nobody
	named   bool          // a message may have the owner who is to be woken
	queues  bool          // who waits has a place in Redis, which free takes back
}

// recipes are those of a backend.
type recipes map[fence.Mode]*recipe

// clocked is the recipes with ClockTokens.
func (all recipes) clocked() recipes {
	more := make(recipes)
	for mode, r := range all {
		one := *r
		one.take = r.clock
		more[mode] = &one
	}
	return more
}

// ticket is what an attempt asks for, and by which names it stands in Redis.
type ticket struct {
	recipe  *recipe
	scope   string
	owner   string
	mode    fence.Mode
	wait    bool
	keys    []string
	channel string
}

func (r *recipe) ticket(o options, scope, owner string, mode fence.Mode, wait bool) ticket {
	t := ticket{recipe: r, scope: scope, owner: owner, mode: mode, wait: wait}
	t.keys = r.keys(o, t)
	t.channel = r.channel(o, t)
	return t
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
}

func newNode(client redis.UniversalClient) *node {
	return &node{client: client, waiters: newWaiters(client)}
}

func (n *node) valid(ttl time.Duration) time.Duration { return ttl }

func (n *node) take(ctx context.Context, t ticket, ttl time.Duration) (answer, error) {
	said, err := n.run(ctx, t.recipe.take, t, ttl, strconv.FormatBool(t.wait)).Result()
	if moving(err) {
		return answer{again: whileMoving}, err
	}
	if err != nil {
		return answer{}, err
	}
	a, err := parse(said)
	if err != nil {
		return answer{}, err
	}
	if a.again <= 0 || a.again > ttl { // a lease without end, or one that is longer than ours: nobody may tell of its end
		a.again = ttl
	}
	if t.recipe.poll > 0 {
		a.again = min(a.again, t.recipe.poll)
	}
	return a, nil
}

// parse reads what the script said that takes a lock.
func parse(said any) (answer, error) {
	if again, refused := said.([]any); refused && len(again) == 1 {
		ms, err := number(again[0])
		return answer{again: time.Duration(ms)*time.Millisecond + afterEnd}, err
	}
	token, err := number(said)
	return answer{granted: err == nil, token: fence.Token(token)}, err
}

// number reads a number of Redis's, which may be a text.
func number(said any) (n int64, err error) {
	n, ok := said.(int64)
	if !ok {
		n, err = strconv.ParseInt(fmt.Sprint(said), 10, 64)
	}
	if err != nil {
		return 0, fmt.Errorf("the script said %v, and this is no Redis: %w", said, err)
	}
	return n, nil
}

// afterEnd is how long after the end of a lease a waiter asks for the lock.
const afterEnd = time.Millisecond

func (n *node) renew(ctx context.Context, t ticket, ttl time.Duration, by change) (bool, error) {
	return n.run(ctx, t.recipe.renew, t, ttl, string(by)).Bool()
}

func (n *node) free(ctx context.Context, t ticket, ttl time.Duration, call string) (bool, error) {
	return n.run(ctx, t.recipe.free, t, ttl, call).Bool()
}

// run sends a script by its hash, and by its text where Redis does not know it.
func (n *node) run(ctx context.Context, s script, t ticket, ttl time.Duration, call string) *redis.Cmd {
	keys, args := min(s.keys, len(t.keys)), min(s.args, 5+len(t.recipe.extra))
	words := append(make([]any, 0, 3+keys+args), "evalsha", s.hash, keys)
	for _, key := range t.keys[:keys] {
		words = append(words, key)
	}
	for i := range args {
		words = append(words, t.argument(i, ttl, call))
	}
	cmd := redis.NewCmd(ctx, words...)
	if err := n.client.Process(ctx, cmd); err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		words[0], words[1] = "eval", s.text
		cmd = redis.NewCmd(ctx, words...)
		_ = n.client.Process(ctx, cmd) // which the command has, too
	}
	return cmd
}

// argument returns the argument of a script that has the index i, from 0. The type recipe lists them.
func (t *ticket) argument(i int, ttl time.Duration, call string) any {
	switch i {
	case 0:
		return t.owner
	case 1:
		return ttl.Milliseconds()
	case 2:
		return t.channel
	case 3:
		return call
	case 4:
		return t.mode.String()
	}
	return t.recipe.extra[i-5]
}

func (n *node) listen(t ticket) *waiter {
	owner := ""
	if t.recipe.named {
		owner = t.owner
	}
	return n.waiters.join(t.channel, owner, t.mode == fence.Shared)
}

// whileMoving is how long a waiter of a lock whose slot moves waits until it asks again.
const whileMoving = 50 * time.Millisecond

// moving reports whether err is the word of a cluster that did nothing, as the slot of the keys is on its way to
// another master, or has just arrived there. go-redis has used up its attempts to find the master.
func moving(err error) bool {
	_, moved := redis.IsMovedError(err)
	_, asked := redis.IsAskError(err)
	return moved || asked || redis.IsTryAgainError(err)
}

// refused reports whether err is Redis's word that it did nothing.
func refused(err error) bool {
	said := redis.Error(nil)
	return errors.As(err, &said)
}
