package redis

import (
	"github.com/fencelab/fencelab/internal/clients/golang"
	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/clients/nodejs"
	"github.com/fencelab/fencelab/internal/clients/python"
	"github.com/fencelab/fencelab/internal/clients/rust"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
)

// original is a recipe that is a program in another language, with a library as it is. A recipe in Java has the lock
// that the recipe of this package has whose name is the same.
type original struct {
	traits
	program string // as service.Service.Peer names it
}

// programs are all of them.
var programs = []recipe{
	&original{traits{name: java.Prefix + "redisson", about: "Redisson itself, 4.7.0: a client in Java, with a RLock that the watchdog renews. The TTL is the watchdog's time."}, java.Prefix + "redisson"},
	&original{traits{name: java.Prefix + "redisson-lease", about: "Likewise, a RLock with a lease, which nothing renews."}, java.Prefix + "redisson"},
	&original{traits{name: java.Prefix + "redisson-fenced", gives: history.ShowsGrant, about: "Likewise, a RFencedLock by tryLockAndGetToken. The watchdog renews it."}, java.Prefix + "redisson"},
	&original{traits{name: java.Prefix + "redisson-fenced-lease", gives: history.ShowsGrant, about: "Likewise, by lockAndGetToken with the TTL as its lease. Redisson 4.7.0 does not use the lease: the watchdog renews the lock. A waiter waits without end. A trylock is by tryLockAndGetToken, which uses the lease."}, java.Prefix + "redisson"},
	&original{traits{name: java.Prefix + "redisson-reentrant", gives: history.ShowsLater, reenters: true, about: "As java/redisson-fenced, but its holder can take it again, with a new token each time."}, java.Prefix + "redisson"},
	&original{traits{name: java.Prefix + "redisson-spin", about: "Likewise, a RSpinLock."}, java.Prefix + "redisson"},
	&original{traits{name: java.Prefix + "redisson-fair", about: "Likewise, a fair lock."}, java.Prefix + "redisson"},
	&original{traits{name: java.Prefix + "redisson-read", mode: fence.Shared, about: "Likewise, the reader's lock of a RReadWriteLock."}, java.Prefix + "redisson"},
	&original{traits{name: java.Prefix + "redisson-write", about: "Likewise, the writer's."}, java.Prefix + "redisson"},
	&original{traits{name: java.Prefix + "redisson-redlock", on: most, about: "Likewise, a RedissonRedLock on 3 or 5 nodes, with a lease. Nothing renews it, and nobody learns of its end. Redisson's timeout of a node is 3 s."}, java.Prefix + "redisson"},
	&original{traits{name: java.Prefix + "redisson-multi", on: everyOne, about: "Likewise, a RedissonMultiLock on 3 or 5 nodes: all or none. Nothing renews it, and the timeout of a node is 3 s."}, java.Prefix + "redisson"},
	&original{traits{name: java.Prefix + "redisson-multi-seconds", on: everyOne, about: "Likewise, by lock(TTL, SECONDS), which waits without end, and whose lease Redisson 4.7.0 makes a thousand times longer at each retry. A trylock is as with java/redisson-multi."}, java.Prefix + "redisson"},
	&original{traits{name: java.Prefix + "spring", about: "Spring Integration's RedisLockRegistry itself, 7.1.0, a new one for each tenure. The TTL is its expireAfter: nothing renews the lock. A waiter asks every 100 ms."}, java.Prefix + "spring"},
	&original{traits{name: java.Prefix + "spring-renewed", about: "Likewise, and its TaskScheduler renews the lock every third of the TTL."}, java.Prefix + "spring"},
	&original{traits{name: java.Prefix + "spring-pubsub", about: "As java/spring, of the type PUB_SUB_LOCK: a waiter listens for an unlock, and asks again when the time of its wait is over."}, java.Prefix + "spring"},
	&original{traits{name: java.Prefix + "shedlock-redis", about: "The RedisLockProvider of ShedLock itself, 7.2.0, on Spring Data: its unlock deletes the key, whoever holds the lock. The TTL is its lockAtMostFor, and nothing renews the lock. A waiter asks every 100 ms."}, java.Prefix + "spring"},
	&original{traits{name: java.Prefix + "shedlock-redis-safe", about: "Likewise with safeUpdate: a script compares the key's value before it deletes the key."}, java.Prefix + "spring"},
	&original{traits{name: java.Prefix + "shedlock-redis-extended", about: "As java/shedlock-redis; the client asks by extend whether it holds the lock, every third of the TTL. It gives the key its own value, whoever holds the lock."}, java.Prefix + "spring"},
	&original{traits{name: java.Prefix + "shedlock-redis-safe-extended", about: "Likewise with safeUpdate: a script compares the key's value before it renews the key."}, java.Prefix + "spring"},
	&original{traits{name: python.Prefix + "redis-py", about: "The Lock of redis-py itself, 8.1.0: a client in Python. The TTL is its timeout, and nothing renews it. A waiter asks every 100 ms."}, python.Prefix + "redis-py"},
	&original{traits{name: python.Prefix + "redis-py-reacquired", about: "Likewise, and a thread of the client calls its reacquire every third of the TTL."}, python.Prefix + "redis-py"},
	&original{traits{name: python.Prefix + "redis-py-zero", about: "As python/redis-py-reacquired, with timeout=0: the lock has no lease."}, python.Prefix + "redis-py"},
	&original{traits{name: python.Prefix + "python-redis-lock", about: "The Lock of python-redis-lock itself, 4.0.1. The TTL is its expire, in whole seconds, and nothing renews it. A waiter waits for the TTL at most."}, python.Prefix + "python-redis-lock"},
	&original{traits{name: python.Prefix + "python-redis-lock-renewed", about: "Likewise, with auto_renewal, every two thirds of the TTL."}, python.Prefix + "python-redis-lock"},
	&original{traits{name: python.Prefix + "pottery", on: most, about: "The Redlock of pottery itself, 3.0.1, on 3 or 5 nodes. The TTL is its auto_release_time, and nothing renews it."}, python.Prefix + "pottery"},
	&original{traits{name: nodejs.Prefix + "redlock", on: most, about: "node redlock itself, 5.0.0-beta.2, on 3 or 5 nodes: a client in JavaScript. The TTL is its duration, and nothing renews it. A waiter asks every 100 ms."}, nodejs.Prefix + "redlock"},
	&original{traits{name: nodejs.Prefix + "redlock-4", on: most, about: "node redlock itself, 4.2.0, likewise: it compares the time that is left of a lock that it was granted, which version 5 does not."}, nodejs.Prefix + "redlock-4"},
	&original{traits{name: nodejs.Prefix + "sesamecare-redlock", on: most, about: "@sesamecare-oss/redlock itself, 1.4.0, a fork of node redlock, likewise."}, nodejs.Prefix + "sesamecare-redlock"},
	&original{traits{name: nodejs.Prefix + "redis-semaphore", about: "The Mutex of redis-semaphore itself, 5.8.0: a client in JavaScript. The TTL is its lockTimeout, and it renews the lock after four fifths of that. A waiter asks every 100 ms."}, nodejs.Prefix + "redis-semaphore"},
	&original{traits{name: nodejs.Prefix + "redis-semaphore-lease", about: "Likewise, with refreshInterval 0: nothing renews it."}, nodejs.Prefix + "redis-semaphore"},
	&original{traits{name: golang.Prefix + "redsync", on: most, asks: true, about: "The Mutex of redsync itself, 4.18.0, on 3 or 5 nodes, in a process of its own. The TTL is its expiry, and nothing renews it. A node has a twentieth of the TTL to answer. A waiter asks again after 50 ms to 250 ms."}, golang.Prefix + "redsync"},
	&original{traits{name: golang.Prefix + "redsync-extended", on: most, asks: true, about: "Likewise; the client asks by its Extend whether it holds the lock, every third of the TTL and at each look."}, golang.Prefix + "redsync"},
	&original{traits{name: golang.Prefix + "redsync-setnx", on: most, asks: true, about: "As go/redsync-extended, by the option WithSetNXOnExtend: Extend takes a lock that is free."}, golang.Prefix + "redsync"},
	&original{traits{name: golang.Prefix + "bsm-redislock", about: "The Lock of bsm/redislock itself, 0.9.4, in a process of its own. The TTL is its own, and nothing renews it. A waiter asks every 100 ms."}, golang.Prefix + "bsm-redislock"},
	&original{traits{name: golang.Prefix + "bsm-redislock-refreshed", about: "Likewise; the client asks by its Refresh whether it holds the lock, every third of the TTL and at each look."}, golang.Prefix + "bsm-redislock"},
	&original{traits{name: rust.Prefix + "rslock", on: most, about: "The LockManager of rslock itself, 0.10.0, on 3 or 5 nodes: a client in Rust. The TTL is its ttl, and nothing renews it. A trylock asks three times, with pauses of 200 ms at most; a waiter waits by acquire_no_guard, which does so again and again."}, rust.Prefix + "rslock"},
}

func (*original) rules() []rule { return []rule{ofOneNode, inItsWay, unreplicated, unaskable} }

func (r *original) peer() string { return r.program }

func (r *original) dial(*client) (asker, error) { return nil, service.ErrOriginal(r.name) }
