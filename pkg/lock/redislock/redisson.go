package redislock

import (
	"crypto/rand"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/pkg/fence"
)

// RedissonTTL is the TTL of Redisson's locks by default, its lockWatchdogTimeout.
const RedissonTTL = 30 * time.Second

// RedissonWait is how long Redisson keeps a place in the queue of a fair lock by default,
// its fairLockWaitTimeout.
const RedissonWait = 5 * time.Minute

var (
	redisson = recipe{
		take: script("redisson"), renew: script("redissonrenew"), free: script("redissonfree"),
		keys:    func(o options, t ticket) []string { return []string{o.prefix + t.scope, redissonLatch(o, t)} },
		channel: redissonChannel,
		extra:   "0",
	}
	redissonFenced = recipe{
		take: redisson.take, renew: redisson.renew, free: redisson.free,
		keys: func(o options, t ticket) []string {
			return append(redisson.keys(o, t), redissonChannel(o, t), redissonName("redisson_lock_token", o, t))
		},
		channel: redissonChannel,
		extra:   "0",
	}
	redissonFair = recipe{
		take: script("redissonqueue", "redissonfair"), renew: redisson.renew, free: script("redissonqueue", "redissonfairfree"),
		keys: func(o options, t ticket) []string {
			return append(redisson.keys(o, t), redissonChannel(o, t), redissonName("redisson_lock_queue", o, t), redissonName("redisson_lock_timeout", o, t))
		},
		channel: func(o options, t ticket) string { return redissonChannel(o, t) + ":" + t.owner },
		queues:  true,
	}
	redissonWriter = recipe{
		take: script("redissonwrite"), renew: redisson.renew, free: redisson.free,
		keys:    redisson.keys,
		channel: redissonRWChannel,
		extra:   "1",
	}
	redissonReader = recipe{
		take: script("redissonread"), renew: script("redissonreadrenew"), free: script("redissonreadfree"),
		keys: func(o options, t ticket) []string {
			name := tagged(o, t)
			return append(redisson.keys(o, t), name, name+":"+t.owner+":rwlock_timeout:1")
		},
		channel: redissonRWChannel,
		extra:   "1",
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

// Redisson returns a backend whose locks are those of Redisson 4, by RedissonClient.getLock:
// the scope is the lock's name, and Prefix what Redisson's NameMapper puts before it. To
// Redisson each tenure is a thread of its own, so none is re-entered. There are no tokens.
//
// The ttl is how long the locks outlive a crash of their holder, and are renewed every third
// of it, as Redisson does without a lease time; RedissonTTL is its default. With FixedLease
// the locks are those of lock(leaseTime).
//
// In a cluster with sharded channels Redisson uses these, and Go's waiters hear of a lock
// that is free when its lease would have ended.
func Redisson(client redis.UniversalClient, ttl time.Duration, some ...Option) (*Exclusive, error) {
	return exclusive(client, ttl, redisson, threads(""), choose(some))
}

// RedissonFenced is Redisson for getFencedLock, which has tokens. They are lost as those of
// New are.
func RedissonFenced(client redis.UniversalClient, ttl time.Duration, some ...Option) (*Exclusive, error) {
	return exclusive(client, ttl, redissonFenced, threads(""), choose(some))
}

// RedissonFair is Redisson for getFairLock. A place in the queue lasts for the lease of the
// holder, and for wait for each place up to it, and is then gone where it is the first. The
// wait has to be that of all who use the lock; RedissonWait is Redisson's default. Redisson
// looks at the clock of its client, and Go's scripts at that of Redis.
func RedissonFair(client redis.UniversalClient, ttl, wait time.Duration, some ...Option) (*Exclusive, error) {
	if err := checkTTL(wait); err != nil {
		return nil, fmt.Errorf("the wait of a fair lock: %w", err)
	}
	r := redissonFair
	r.extra = fmt.Sprint(wait.Milliseconds())
	return exclusive(client, ttl, r, threads(""), choose(some))
}

// RedissonReadWrite is Redisson for both locks of getReadWriteLock. A reader here makes no
// other reader's lease shorter; with a shorter TTL, one of Redisson's does when it is renewed.
// Redisson's getLock of the same name is another lock to readers, and excludes nobody
// surely.
func RedissonReadWrite(client redis.UniversalClient, ttl time.Duration, some ...Option) (*Backend, error) {
	recipes := map[fence.Mode]recipe{fence.Exclusive: redissonWriter, fence.Shared: redissonReader}
	l, err := newLocker(client, ttl, recipes, threads(":write"), choose(some))
	if err != nil {
		return nil, err
	}
	return &Backend{Exclusive{l}}, nil
}

// threads names tenures as Redisson names threads: by the UUID of its client and a number.
func threads(writer string) func(fence.Mode) string {
	client := uuid()
	var number atomic.Int64
	return func(mode fence.Mode) string {
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
