// Package redislock is a lock.Backend and a lock.Sharer on Redis.
//
// The lock of a scope is a key that has a time to live and the name of its holder. The
// holder renews it; whoever waits is told by a channel that it is free.
//
// # Tokens
//
// The script that takes the lock raises a counter, and its value is the token: tokens are
// in the order of the grants, over readers and writers. The counter has no time to live.
// Whatever makes Redis forget it lets tokens start again, so that a resource refuses the
// rightful holder, or admits a stale one:
//
//   - A restart. Redis promises what its persistence does: without "appendonly yes" the
//     grants since the last snapshot are gone, with "appendfsync everysec" those of the last
//     second or two, with "always" none that was answered.
//   - A failover. Replication is asynchronous, and a new master knows no grant that had not
//     come to it. WAIT makes that rarer, and not impossible.
//   - Eviction. With "maxmemory" and a policy "allkeys-…" the counter is evicted like any
//     key, with "volatile-…" the lock is, and the counter stays. Only with "noeviction" both
//     stay, and locks are not granted where there is no room left.
//   - FLUSHALL, DEL, or a snapshot that is restored.
//
// The lock itself goes with them: then two tenures may be current, until the older one's
// holder is told, at its next renewal. Where that is too little, take locks in etcd, by
// package etcdlock.
//
// # What a holder is told, and when
//
// A tenure is renewed every third of the TTL. Where Redis says that the lock is another's,
// or not there, it is lost; a renewal never takes it again. Where Redis does not answer for
// the TTL, counted by the holder's clock from before the last request that was answered was
// sent, the tenure is cut off.
//
// # Who waits
//
// A waiter asks for the lock when it is told that the lock is free, and when the lease of
// the holder would end. So a message that is lost costs at most the rest of the TTL that the
// holder had when the waiter asked last. The waiters for one lock of one Backend share a
// connection. Redis grants a lock to who asks first, be it a waiter or not; and a writer may
// wait for ever where readers come all the time. With the option Fair all wait in the order
// in which they came.
//
// # Readers and writers
//
// RLock and TryRLock take a lock shared, Lock and TryLock take it alone. Each reader has a
// lease of its own, by Redis's clock, which no other reader makes longer or shorter.
//
// # Requests that are sent again
//
// After an error of the network go-redis sends a request again, three times by default (its
// option MaxRetries). Each tenure has a name of its own, by which the scripts know what was
// done before: a lock that is taken twice is granted once, with one token, and an Unlock
// whose first answer was lost says that the lock is free.
//
// The client's timeouts bound how long a request takes in the background that nobody waits
// for any more.
//
// # The locks of others
//
// Go services live beside Java ones. Redisson, RedissonFenced, RedissonFair,
// RedissonReadWrite and Spring take locks in the formats of these libraries, so that theirs
// and those of this package exclude each other. New has a format of its own, with tokens.
// Quorum takes locks on several independent Redis, by the algorithm RedLock.
//
// # Keys
//
// With E for the scope, in which percent signs and braces are written as %25, %7B and %7D,
// and after the option Prefix: the string lock:{E} is the owner of the lock that is held
// alone. The hash lock:{E}:grants has the counter, in the field "token", and the last Unlock.
// It is left when the lock is free. The sorted set lock:{E}:readers has the end of each
// reader's lease; the list lock:{E}:queue and the sorted set lock:{E}:places are those of a
// fair lock; and lock:{E}:free is the channel.
package redislock

import (
	"context"
	"crypto/rand"
	"embed"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

//go:embed lua
var sources embed.FS

// script is one or several files, one after the other.
func script(names ...string) *redis.Script {
	var text strings.Builder
	for _, name := range names {
		file, err := sources.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic(err) // a name that is written wrong in this package
		}
		text.Write(file)
	}
	return redis.NewScript(text.String())
}

var (
	writer = recipe{
		take: script("lock"), renew: script("renew"), free: script("free"),
		keys: options.keys, channel: options.channel,
	}
	reader = recipe{
		take: script("rlock"), renew: script("rrenew"), free: script("rfree"),
		keys: options.keys, channel: options.channel,
	}
	fair       = recipe{take: script("queue", "fairlock"), free: script("queue", "fairfree"), named: true, queues: true}
	fairWriter = writer.in(fair)
	fairReader = reader.in(fair)
)

// in is r with the queue of another.
func (r recipe) in(queue recipe) recipe {
	queue.renew, queue.keys, queue.channel = r.renew, r.keys, r.channel
	return queue
}

// Exclusive takes locks alone. It makes tenures of the concrete type *Tenure, or *Lease
// where nothing renews them. It needs no closing.
type Exclusive struct {
	locker *locker
}

// Backend takes locks alone and shared.
type Backend struct {
	Exclusive
}

var (
	_ lock.Backend = (*Exclusive)(nil)
	_ lock.Backend = (*Backend)(nil)
	_ lock.Sharer  = (*Backend)(nil)
)

// Option is a choice for New and for the modes of Redisson.
type Option func(*options)

type options struct {
	prefix string
	fixed  bool
	fair   bool
}

// Prefix begins all keys and channels. Applications that share a Redis, and whose locks
// have nothing to do with one another, have one each.
func Prefix(prefix string) Option { return func(o *options) { o.prefix = prefix } }

// FixedLease has nothing renew the tenures. They are *Lease, which is a lock.Extender.
func FixedLease() Option { return func(o *options) { o.fixed = true } }

// Fair has those who wait for a lock get it in the order in which they came, readers next
// to each other together. Who waits has a place in Redis, and asks every third of the TTL to
// keep it. The place of one that died goes after the TTL, by Redis's clock. TryLock and
// TryRLock return ErrLocked also where others only wait.
//
// Backends with Fair and without exclude each other, and only those with Fair stand in the
// queue. It is for New: of the locks of others some are fair and some are not.
func Fair() Option { return func(o *options) { o.fair = true } }

func choose(some []Option) (o options) {
	for _, choice := range some {
		choice(&o)
	}
	return o
}

// New returns a backend whose locks outlive a crash of their holder by ttl, which has to be
// of whole milliseconds. It is also how long a holder may take to notice that Redis cannot
// be reached.
//
// The client stays the caller's to close; closing it is a crash for all tenures that were
// not released. In a cluster all keys of a scope are in one slot. The locks need Redis 5 or
// later, or Valkey.
func New(client redis.UniversalClient, ttl time.Duration, some ...Option) (*Backend, error) {
	o := choose(some)
	recipes := map[fence.Mode]recipe{fence.Exclusive: writer, fence.Shared: reader}
	if o.fair {
		recipes = map[fence.Mode]recipe{fence.Exclusive: fairWriter, fence.Shared: fairReader}
	}
	l, err := newLocker(client, ttl, recipes, random, o)
	if err != nil {
		return nil, err
	}
	return &Backend{Exclusive{l}}, nil
}

func newLocker(client redis.UniversalClient, ttl time.Duration, recipes map[fence.Mode]recipe, owner func(fence.Mode) string, o options) (*locker, error) {
	if err := checkTTL(ttl); err != nil {
		return nil, err
	}
	if o.fair && !recipes[fence.Exclusive].queues {
		return nil, errFair
	}
	return &locker{service: newNode(client, recipes, o), ttl: ttl, fixed: o.fixed, owner: owner}, nil
}

var errFair = fence.Definite.New("redislock: Fair is for New alone: RedissonFair is Redisson's fair lock")

// random is a name that no tenure ever had.
func random(fence.Mode) string { return rand.Text() }

func exclusive(client redis.UniversalClient, ttl time.Duration, r recipe, owner func(fence.Mode) string, o options) (*Exclusive, error) {
	l, err := newLocker(client, ttl, map[fence.Mode]recipe{fence.Exclusive: r}, owner, o)
	if err != nil {
		return nil, err
	}
	return &Exclusive{l}, nil
}

// key is that of a scope's lock.
func (o options) key(scope string) string {
	return o.prefix + "lock:{" + escape.Replace(scope) + "}"
}

// escape keeps scopes apart, and their keys in one slot of a cluster.
var escape = strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D")

func (o options) keys(t ticket) []string {
	key := o.key(t.scope)
	return []string{key, key + ":grants", key + ":readers", key + ":queue", key + ":places"}
}

func (o options) channel(t ticket) string { return o.key(t.scope) + ":free" }

// TryLock is as lock.Backend says. When ctx is done, TryLock and Lock need at most 2 s
// more, to hear of what they have asked for and to take it back.
func (e *Exclusive) TryLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return e.locker.attempt(ctx, "trylock", scope, fence.Exclusive, false)
}

// Lock is as lock.Backend says.
func (e *Exclusive) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	return e.locker.attempt(ctx, "lock", scope, fence.Exclusive, true)
}

// TryRLock is as lock.Sharer says, and else as TryLock.
func (b *Backend) TryRLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return b.locker.attempt(ctx, "tryrlock", scope, fence.Shared, false)
}

// RLock is as lock.Sharer says, and else as Lock.
func (b *Backend) RLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return b.locker.attempt(ctx, "rlock", scope, fence.Shared, true)
}
