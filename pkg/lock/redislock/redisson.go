package redislock

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// RedissonTTL is the default TTL of Redisson's locks, its lockWatchdogTimeout.
const RedissonTTL = 30 * time.Second

// RedissonWait is how long by default Redisson keeps a place in the queue of a fair lock,
// its fairLockWaitTimeout.
const RedissonWait = 5 * time.Minute

var (
	redisson = recipe{
		take: read("late", "redisson"), renew: read("lease", "redissonrenew"), free: read("redissonfree"), inspect: read("redissoninspect"),
		keys:    func(o options, t ticket) []string { return []string{o.prefix + t.scope, redissonLatch(o, t)} },
		channel: redissonChannel,
		extra:   []any{"0"},
	}
	redissonFenced = recipe{
		take: redisson.take, renew: redisson.renew, free: redisson.free, inspect: redisson.inspect,
		keys: func(o options, t ticket) []string {
			return append(redisson.keys(o, t), redissonName("redisson_lock_token", o, t))
		},
		channel: redissonChannel,
		extra:   []any{"0"},
	}
	redissonFair = recipe{
		take: read("late", "redissonqueue", "redissonfair"), renew: redisson.renew, free: read("redissonqueue", "redissonfairfree"), inspect: redisson.inspect,
		keys: func(o options, t ticket) []string {
			return append(redisson.keys(o, t), redissonChannel(o, t), redissonName("redisson_lock_queue", o, t), redissonName("redisson_lock_timeout", o, t))
		},
		channel: func(o options, t ticket) string { return redissonChannel(o, t) + ":" + t.owner },
		queues:  true,
	}
	redissonWriter = recipe{
		take: redisson.take, renew: redisson.renew, free: redisson.free,
		keys:    redisson.keys,
		channel: redissonRWChannel,
		extra:   []any{"1", "mode", "write"},
	}
	redissonReader = recipe{
		take: read("late", "redissonread"), renew: read("lease", "redissonreadrenew"), free: read("redissonreadfree"), inspect: read("redissonreadinspect"),
		keys: func(o options, t ticket) []string {
			name := tagged(o, t)
			return append(redisson.keys(o, t), name, name+":"+t.owner+":rwlock_timeout:1")
		},
		channel: redissonRWChannel,
		extra:   []any{"1"},
	}
)

// tagged is the name of a lock as it stands in the names of its other keys, all in one slot
// of a cluster.
func tagged(o options, t ticket) string {
	name := o.prefix + t.scope
	if strings.Contains(name, "{") {
		return name
	}
	return "{" + name + "}"
}

func redissonName(kind string, o options, t ticket) string { return kind + ":" + tagged(o, t) }

func redissonLatch(o options, t ticket) string { return redissonName("redisson_unlock_latch", o, t) }

func redissonChannel(o options, t ticket) string {
	return redissonName("redisson_lock__channel", o, t)
}

func redissonRWChannel(o options, t ticket) string { return redissonName("redisson_rwlock", o, t) }

// Redisson returns a backend whose locks are those of RedissonClient.getLock in Redisson 4.
// The scope is the lock's name, and Prefix is what Redisson's NameMapper puts before the
// name. To Redisson each tenure is a thread of its own, so that no tenure is re-entered.
// There are no tokens.
//
// The locks outlive a crash of their holder by ttl; RedissonTTL is Redisson's default. The
// holder renews its lease every third of the ttl, as Redisson does if lock() has no lease
// time. With FixedLease the locks are those of lock(leaseTime).
//
// In a cluster with sharded channels Redisson sends its messages by sharded channels, and
// waiters of this package do not hear them. They ask when the holder's lease would end.
func Redisson(client redis.UniversalClient, ttl time.Duration, some ...Option) (*Exclusive, error) {
	return exclusive(client, ttl, &redisson, threads(""), choose(some))
}

// RedissonFenced is as Redisson, for getFencedLock, whose locks have tokens. The counter of
// these tokens can be lost as that of New can.
func RedissonFenced(client redis.UniversalClient, ttl time.Duration, some ...Option) (*Exclusive, error) {
	return exclusive(client, ttl, &redissonFenced, threads(""), choose(some))
}

// RedissonFair is as Redisson, for getFairLock. The first place in the queue lasts for the
// rest of the holder's lease and for one wait, the second place for one wait more, and so
// on. A place that is over is removed when it is the first. All who use the lock need the
// same wait; RedissonWait is Redisson's default. Redisson reads the clock of its client, and
// the scripts of this package read the clock of Redis.
func RedissonFair(client redis.UniversalClient, ttl, wait time.Duration, some ...Option) (*Exclusive, error) {
	if err := attempt.CheckTTL("redislock", wait); err != nil {
		return nil, fmt.Errorf("the wait of a fair lock: %w", err)
	}
	r := redissonFair
	r.extra = []any{wait.Milliseconds()}
	return exclusive(client, ttl, &r, threads(""), choose(some))
}

// RedissonReadWrite is as Redisson, for both locks of getReadWriteLock. A reader of this
// package makes no other reader's lease shorter. A reader of Redisson with a shorter TTL does
// so when it renews its lease. Redisson's getLock of the same name is another lock to
// readers, and does not reliably exclude anybody: do not use it.
func RedissonReadWrite(client redis.UniversalClient, ttl time.Duration, some ...Option) (*Backend, error) {
	modes := recipes{fence.Exclusive: &redissonWriter, fence.Shared: &redissonReader}
	l, err := newLocker(client, ttl, modes, threads(":write"), choose(some))
	if err != nil {
		return nil, err
	}
	return &Backend{Exclusive{l}}, nil
}

// threads names tenures as Redisson names threads: by the UUID of its client and a number.
func threads(writer string) naming {
	client := uuid()
	var number atomic.Int64
	return func(_ context.Context, mode fence.Mode) string {
		name := fmt.Sprintf("%s:%d", client, number.Add(1))
		if mode == fence.Exclusive {
			name += writer
		}
		return name
	}
}

// uuid is a random one, version 4.
func uuid() string {
	var b [16]byte
	rand.Read(b[:]) // which never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
