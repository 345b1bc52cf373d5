// Package redislock is a lock.Backend and a lock.Sharer on Redis.
//
// The lock of a scope is a key. It has a time to live, and its value is the name of the
// holder. The holder renews its lease; a channel tells the waiters that the lock is free.
//
// # Tokens
//
// The script that takes the lock raises a counter, and the counter's value is the token:
// tokens are in the order of the grants, those of readers and of writers together. The
// counter has no time to live. If Redis forgets the counter, tokens go back or start again.
// A resource then refuses the rightful holder, or admits a stale one. Redis can forget the
// counter by:
//
//   - A restart. Redis keeps what its persistence keeps: without "appendonly yes" the grants
//     since the last snapshot are lost, with "appendfsync everysec" those of the last second
//     or two, with "appendfsync always" none that was answered.
//   - A failover. Replication is asynchronous, and the new master does not know grants that
//     had not reached it. WAIT makes that rarer, but not impossible.
//   - Eviction. With "maxmemory" and a policy "allkeys-…" Redis can evict the counter like
//     any key. With "volatile-…" it can evict the lock, and the counter stays. Only with
//     "noeviction" both stay, and a lock is not granted if there is no room left.
//   - FLUSHALL, DEL, or a snapshot that is restored.
//
// With the option ClockTokens a counter that is lost lowers no token, as far as Redis's clock is
// right.
//
// The lock itself can be lost in the same ways. Then there may be two tenures, until the
// holder of the older one is told at its next renewal. If this is not enough, take locks in
// etcd, by package etcdlock.
//
// # What a holder is told, and when
//
// A tenure is renewed every third of the TTL. If Redis says that another owner has the lock,
// or nobody, the lock is lost; a renewal never takes it again. If Redis does not answer for
// the TTL, the tenure is cut off. That TTL is counted by the holder's clock, and begins when
// the holder sent the last request that was answered.
//
// # Who waits
//
// A waiter asks for the lock when it is told that the lock is free, and when the lease of
// the holder would end. So a message that is lost costs at most the rest of the lease that
// the holder had when the waiter asked last. The waiters of one Backend share a connection,
// whatever locks they wait for. The client that asks first gets the lock, even if others have waited longer,
// and a writer may wait for ever if readers come all the time. With the option Fair the
// clients get the lock in the order in which they came.
//
// # Readers and writers
//
// RLock and TryRLock take a lock shared, Lock and TryLock take it alone. Each reader has a
// lease of its own, by Redis's clock. No other reader makes that lease longer or shorter.
//
// # Requests that are sent again
//
// After an error of the network go-redis sends a request again, three times by default (its
// option MaxRetries). Each tenure has a name of its own, and by this name the scripts know
// what was done before. If the request that takes a lock comes twice, the lock is granted
// once, with one token. If the first answer to an Unlock was lost, the Unlock still says
// that it has freed the lock.
//
// Redis keeps the name of the last tenure that was unlocked, and of no tenure before it. So one
// thing is left: a copy of the request that takes a lock, which is held up in the network until
// its own tenure and another one are over. It takes the lock for nobody, if the lock is free, and
// the lock is taken for the TTL. Nothing worse happens: nobody shows the token of that grant, and
// the next tenure has a higher one. A Redis that knew all tenures would need room for each.
//
// A renewal, or an Extend that makes the lease longer, can come late, after a later one was
// answered. It makes the lease no shorter.
//
// A request that nobody waits for any more may go on in the background. The client's
// timeouts bound how long it takes.
//
// # Many calls at once
//
// The client can be an AutoPipeliner of go-redis, which sends the requests of concurrent calls
// together:
//
//	shared, err := client.AutoPipeline()
//	locks, err := redislock.New(shared, ttl)
//
// Many calls at once then take less time, and a call that is alone takes more. Calls that are
// sent together share a connection, and fail together if it breaks. A renewal can wait for the
// answers to the requests before it.
//
// # The locks of others
//
// Go services live beside Java services. Redisson, RedissonFenced, RedissonFair,
// RedissonReadWrite and Spring take locks in the formats of the Java libraries Redisson and
// Spring Integration, so that locks of these libraries and of this package exclude each
// other. New has a format of its own, with tokens. Quorum takes locks on several independent
// Redis servers, by the algorithm RedLock.
//
// # Who holds a lock
//
// The name of a holder has its words (lock.WithWords) after a space, and Inspect tells them. The
// formats of Redisson and of Spring have no room for words.
//
// # Keys
//
// E is the scope, in which percent signs and braces are written as %25, %7B and %7D. Each
// name begins with the option Prefix.
//
//   - The string lock:{E} has the owner, while a lock is held alone.
//   - The hash lock:{E}:grants has the counter, in the field "token", and the last Unlock.
//     The hash stays when the lock is free.
//   - The sorted set lock:{E}:readers has the end of each reader's lease.
//   - The list lock:{E}:queue and the sorted set lock:{E}:places are the queue of a fair lock.
//   - lock:{E}:free is the channel.
package redislock

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

//go:embed lua
var sources embed.FS

// script gets the keys and the arguments up to the last one that its text names.
type script struct {
	text, hash string
	keys, args int
}

// read returns the script of one or several files, one after the other.
func read(names ...string) script {
	var text strings.Builder
	for _, name := range names {
		file, err := sources.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic(err) // a name that is written wrong in this package
		}
		text.Write(file)
	}
	s := script{text.String(), redis.NewScript(text.String()).Hash(), last(text.String(), "KEYS"), last(text.String(), "ARGV")}
	if strings.Contains(text.String(), "unpack(ARGV") {
		s.args = math.MaxInt
	}
	return s
}

// last is the highest index of a table that a text names, one digit long.
func last(text, table string) int {
	n := 9
	for n > 0 && !strings.Contains(text, fmt.Sprintf("%s[%d]", table, n)) {
		n--
	}
	return n
}

var (
	writer = recipe{
		take: read("late", "count", "lock"), clock: read("late", "count", "clock", "lock"), renew: read("lease", "renew"), free: read("free"), inspect: read("ends", "inspect"),
		keys: options.keys, channel: options.channel,
	}
	reader = recipe{
		take: read("late", "ends", "count", "rlock"), clock: read("late", "ends", "count", "clock", "rlock"), renew: read("ends", "lease", "rrenew"), free: read("ends", "rfree"), inspect: writer.inspect,
		keys: options.keys, channel: options.channel,
	}
	fairWriter = recipe{
		take:  read("late", "ends", "count", "queue", "fairlock"),
		clock: read("late", "ends", "count", "clock", "queue", "fairlock"), renew: writer.renew, free: read("ends", "queue", "fairfree"), inspect: writer.inspect,
		keys: options.fairKeys, channel: options.channel,
		named: true, queues: true,
	}
	fairReader = recipe{
		take: fairWriter.take, clock: fairWriter.clock, renew: reader.renew, free: fairWriter.free, inspect: writer.inspect,
		keys: options.fairKeys, channel: options.channel,
		named: true, queues: true,
	}
)

// Exclusive takes locks alone. Its tenures have the concrete type *Tenure, or *Lease if
// nothing renews them. It needs no closing.
type Exclusive struct {
	locker *locker
}

// Backend takes locks alone and shared.
type Backend struct {
	Exclusive
}

var (
	_ lock.Backend   = (*Exclusive)(nil)
	_ lock.Inspector = (*Exclusive)(nil)
	_ lock.Backend   = (*Backend)(nil)
	_ lock.Sharer    = (*Backend)(nil)
	_ lock.Inspector = (*Backend)(nil)
)

// Option is a choice for New and for the modes of Redisson.
type Option func(*options)

type options struct {
	prefix string
	fixed  bool
	fair   bool
	clock  bool
}

// Prefix begins the names of all keys and channels. If applications share a Redis, and their
// locks have nothing to do with one another, each application has a prefix of its own. It has
// no braces: in a cluster they would decide in which slot a key is.
func Prefix(prefix string) Option { return func(o *options) { o.prefix = prefix } }

// FixedLease has the effect that nothing renews the tenures. They are of type *Lease, which
// is a lock.Extender.
func FixedLease() Option { return func(o *options) { o.fixed = true } }

// Fair has the effect that waiters get a lock in the order in which they came, and readers
// that are next to each other get it together. A waiter has a place in a queue in Redis, and
// asks every third of the TTL to keep its place. The place of a dead waiter is gone after
// the TTL, by Redis's clock. TryLock and TryRLock return ErrLocked even if nobody holds the
// lock and others wait for it.
//
// Locks of a Backend with Fair and of a Backend without Fair exclude each other, but only
// waiters with Fair stand in the queue. Fair is an option of New alone: the locks of other
// libraries are either fair or not.
func Fair() Option { return func(o *options) { o.fair = true } }

// ClockTokens has the effect that a token is no lower than the time of Redis's clock, in
// microseconds since 1970. So tokens go on where they were after Redis has lost the counter,
// by a failover, an eviction, FLUSHALL or DEL. This has a price:
//
//   - Tokens jump, and are long numbers. The first one with this option is higher than all that
//     a counter has given out, and without the option the counter goes on from there.
//   - It is as good as Redis's clock. If a new master's clock is behind that of the old one,
//     tokens go back by that much, until the clock has caught up. If a clock runs ahead and is
//     set back, the counter alone goes on, until the clock has caught up.
//   - All clients of a lock need it. After a loss a client without it begins with 1.
//
// ClockTokens is an option of New alone.
func ClockTokens() Option { return func(o *options) { o.clock = true } }

func choose(some []Option) (o options) {
	for _, choice := range some {
		choice(&o)
	}
	return o
}

// New returns a backend whose locks outlive a crash of their holder by ttl, which has to be
// of whole milliseconds. A holder may take as long as ttl to notice that Redis cannot be
// reached.
//
// The caller closes the client; closing it is a crash for all tenures that were not
// released. The locks need Redis 5 or later, or Valkey.
//
// In a cluster all keys of a scope are in one slot. While some of them are on the way to another
// master, Redis does nothing that needs several (TRYAGAIN): TryLock, Unlock and the renewals of a
// reader fail. The renewals of a lock that is held alone, and Lock and RLock, which wait, go on.
func New(client redis.UniversalClient, ttl time.Duration, some ...Option) (*Backend, error) {
	o := choose(some)
	modes := recipes{fence.Exclusive: &writer, fence.Shared: &reader}
	if o.fair {
		modes = recipes{fence.Exclusive: &fairWriter, fence.Shared: &fairReader}
	}
	l, err := newLocker(client, ttl, modes, random, o)
	if err != nil {
		return nil, err
	}
	return &Backend{Exclusive{l}}, nil
}

func newLocker(client redis.UniversalClient, ttl time.Duration, recipes recipes, owner naming, o options) (*locker, error) {
	if err := cmp.Or(attempt.CheckTTL("redislock", ttl), o.check(client)); err != nil {
		return nil, err
	}
	switch own := recipes[fence.Exclusive]; {
	case o.fair && !own.queues:
		return nil, errFair
	case o.clock && own.clock.text == "":
		return nil, errClock
	case o.clock:
		recipes = recipes.clocked()
	}
	return &locker{service: newNode(client), recipes: recipes, options: o, ttl: ttl, owner: owner, crew: newCrew()}, nil
}

// check refuses what no lock can be made of.
func (o options) check(clients ...redis.UniversalClient) error {
	if strings.ContainsAny(o.prefix, "{}") {
		return fence.Definite.New(fmt.Sprintf("redislock: Prefix(%q): want one without braces", o.prefix))
	}
	if slices.ContainsFunc(clients, isNil) {
		return fence.Definite.New("redislock: the client is nil, want one of Redis")
	}
	return nil
}

// isNil reports whether there is no client, or a nil pointer in its place.
func isNil(client redis.UniversalClient) bool {
	v := reflect.ValueOf(client)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

var (
	errFair  = fence.Definite.New("redislock: Fair is for New alone: RedissonFair is Redisson's fair lock")
	errClock = fence.Definite.New("redislock: ClockTokens is for New alone")
)

func exclusive(client redis.UniversalClient, ttl time.Duration, r *recipe, owner naming, o options) (*Exclusive, error) {
	l, err := newLocker(client, ttl, recipes{fence.Exclusive: r}, owner, o)
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
	return []string{key, key + ":grants", key + ":readers"}
}

func (o options) fairKeys(t ticket) []string {
	key := o.key(t.scope)
	return append(o.keys(t), key+":queue", key+":places")
}

func (o options) channel(t ticket) string { return t.keys[0] + ":free" }

// TryLock is as lock.Backend says. When ctx is done, TryLock and Lock take at most 2 s more:
// they wait for the answer to their request, and take back what it has granted.
func (e *Exclusive) TryLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return e.locker.attempt(ctx, scope, attempt.TryLock)
}

// Lock is as lock.Backend says.
func (e *Exclusive) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	return e.locker.attempt(ctx, scope, attempt.Lock)
}

// TryRLock is as lock.Sharer says. Otherwise it is as TryLock.
func (b *Backend) TryRLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return b.locker.attempt(ctx, scope, attempt.TryRLock)
}

// RLock is as lock.Sharer says. Otherwise it is as Lock.
func (b *Backend) RLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return b.locker.attempt(ctx, scope, attempt.RLock)
}
