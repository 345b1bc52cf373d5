package redislock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// redlock is the lock of one node: a string with the owner, as in RedLock, redsync and
// others.
var redlock = recipe{
	take: spring.take, renew: spring.renew, free: spring.free, inspect: spring.inspect,
	keys:    func(o options, t ticket) []string { return []string{o.prefix + t.scope} },
	channel: func(o options, t ticket) string { return "redlock:" + tagged(o, t) },
}

// Quorum returns a backend that takes locks by the algorithm RedLock: a client holds a lock
// if it has the lock on a majority of several Redis servers (nodes) that know nothing of
// each other. So a lock is not lost with a minority of the nodes. This is all that Quorum
// adds. Mind its limits:
//
//   - It gives no token. If a holder was paused, or a request of it comes late, no resource
//     can keep it out. Locks with tokens are made for this.
//   - It needs clocks that run equally fast, those of all nodes and that of the holder, but
//     for one percent and 2 ms. No clock may jump.
//   - A node that restarts without its keys grants again what it had granted before. Keep
//     the node away for longer than the TTL, or have it keep all that it answered
//     ("appendfsync always").
//   - The nodes must not be those of one Redis Cluster: a cluster has a key on one master, and
//     three clients of it have one vote that is counted three times. Quorum refuses clients
//     that name the same server, and cannot see more.
//
// The tenures are of type *Lease, and nothing renews them: Until is the end of the validity
// time, which is the ttl less the drift and the time that taking the lock took. Extend asks
// all nodes, and succeeds if a majority still has the lock. The ttl is 100 ms or more.
//
// Each node has a tenth of the TTL to answer an attempt, and a silent node holds up each
// attempt for that time. An attempt that fails is taken back on all nodes. If no majority
// answers, Lock goes on, and TryLock returns why. The key is the scope after the option
// Prefix, and the value is the owner, so that locks of redsync on the same nodes and locks
// of Quorum exclude each other. A waiter asks about every 100 ms, and the first node tells it
// that the lock is free. As with Spring, the format has no place for what was done before.
func Quorum(clients []redis.UniversalClient, ttl time.Duration, some ...Option) (*Exclusive, error) {
	if len(clients) < 3 {
		return nil, fence.Definite.New(fmt.Sprintf("redislock: a quorum of %d Redis, want 3 or more: of fewer a majority does without none", len(clients)))
	}
	if err := attempt.CheckTTL("redislock", ttl); err != nil {
		return nil, err
	}
	if ttl < 100*time.Millisecond {
		return nil, fence.Definite.New(fmt.Sprintf("redislock: a quorum's TTL of %v, want 100ms or more", ttl))
	}
	o := choose(some)
	switch {
	case o.fair:
		return nil, errFair
	case o.clock:
		return nil, errClock
	}
	if err := o.check(clients...); err != nil {
		return nil, err
	}
	o.fixed = true
	q := &quorum{crew: newCrew()}
	named := make(map[any]int) // the nodes, from 1, by their servers
	for i, client := range clients {
		for _, server := range servers(client) {
			if first := named[server]; first > 0 && first <= i {
				return nil, fence.Definite.New(fmt.Sprintf("redislock: node %d of the quorum is node %d as well (%v): want a Redis of its own for each", i+1, first, server))
			}
			named[server] = i + 1
		}
		q.nodes = append(q.nodes, newNode(client))
	}
	return &Exclusive{&locker{service: q, recipes: recipes{fence.Exclusive: &redlock}, options: o, ttl: ttl, owner: random, crew: q.crew}}, nil
}

// servers are what tells one Redis from another, as far as its client says it.
func servers(client redis.UniversalClient) (all []any) {
	switch client := client.(type) {
	case *redis.Client:
		return []any{client.Options().Network + " " + strings.Replace(client.Options().Addr, "localhost:", "127.0.0.1:", 1)}
	case *redis.ClusterClient:
		for _, addr := range client.Options().Addrs {
			all = append(all, "tcp "+addr)
		}
		return all
	}
	return []any{client}
}

// quorum is several Redis, of which a majority decides.
type quorum struct {
	nodes []*node
	crew  *crew
}

// vote is what a node says, where it says something.
type vote struct {
	yes bool
	err error
}

// ask has all nodes vote.
func (q *quorum) ask(call func(*node) (bool, error)) <-chan vote {
	votes := make(chan vote, len(q.nodes))
	for _, n := range q.nodes {
		go func() {
			yes, err := call(n)
			votes <- vote{yes, err}
		}()
	}
	return votes
}

// count returns how many said yes and no, and what kept the others from it. It returns when
// all have voted or, with early, when the others do not matter any more.
func (q *quorum) count(votes <-chan vote, early bool) (yes, no int, err error) {
	for range q.nodes {
		switch v := <-votes; {
		case v.err != nil:
			err = errors.Join(err, v.err)
		case v.yes:
			yes++
		default:
			no++
		}
		if early && (q.decide(yes) || q.block(no)) {
			return yes, no, err
		}
	}
	return yes, no, err
}

// decide reports whether so many are a majority.
func (q *quorum) decide(yes int) bool { return 2*yes > len(q.nodes) }

// block reports whether so many keep all others from being one.
func (q *quorum) block(no int) bool { return !q.decide(len(q.nodes) - no) }

// outcome is what a majority says, or why nobody knows.
func (q *quorum) outcome(votes <-chan vote) (bool, error) {
	yes, no, err := q.count(votes, true)
	if q.decide(yes) || q.block(no) {
		return q.decide(yes), nil
	}
	return false, fmt.Errorf("%d of %d nodes said yes, and %d no: %w", yes, len(q.nodes), no, err)
}

// valid is RedLock's validity time, but for the time that passes: clocks drift.
func (q *quorum) valid(ttl time.Duration) time.Duration {
	return ttl - ttl/100 - 2*time.Millisecond
}

// take waits for all nodes: a request that is left behind would come after its release.
func (q *quorum) take(ctx context.Context, t ticket, ttl time.Duration) (answer, error) {
	yes, no, err := q.count(q.ask(within(ctx, q.crew, ttl/10, func(ctx context.Context, n *node) (bool, error) {
		said, err := n.take(ctx, t, ttl)
		return said.granted, err
	})), false)
	a := answer{granted: q.decide(yes), again: 50*time.Millisecond + rand.N(100*time.Millisecond)}
	if a.granted {
		return a, nil
	}
	_, _, _ = q.count(q.ask(within(ctx, q.crew, ttl/10, func(ctx context.Context, n *node) (bool, error) {
		return n.free(ctx, t, ttl, "")
	})), false)
	if q.decide(yes + no) {
		return a, nil // the others do not matter
	}
	return a, fmt.Errorf("%d of %d nodes answered: %w", yes+no, len(q.nodes), err)
}

// within bounds a node's call.
func within[T any](ctx context.Context, c *crew, timeout time.Duration, call func(context.Context, *node) (T, error)) func(*node) (T, error) {
	return func(n *node) (T, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		return begin(ctx, c, func() (T, error) { return call(ctx, n) }).within(ctx)
	}
}

func (q *quorum) renew(ctx context.Context, t ticket, ttl time.Duration, by change) (bool, error) {
	return q.outcome(q.ask(func(n *node) (bool, error) { return n.renew(ctx, t, ttl, by) }))
}

func (q *quorum) free(ctx context.Context, t ticket, ttl time.Duration, call string) (bool, error) {
	return q.outcome(q.ask(func(n *node) (bool, error) { return n.free(ctx, t, ttl, call) }))
}

func (q *quorum) listen(t ticket) *waiter { return q.nodes[0].listen(t) }
