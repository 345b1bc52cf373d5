package redis

import (
	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/history"
)

// programs are the recipes that are programs in Java, with the library whose lock the recipe of the
// same name is. The first word of a name is the folder below internal/clients/java.
var programs = []*recipe{
	{name: java.Prefix + "redisson", about: "Redisson itself, 4.7.0: a client in Java, with a RLock that the watchdog renews. The TTL is the watchdog's time."},
	{name: java.Prefix + "redisson-lease", about: "Likewise, a RLock with a lease, which nothing renews."},
	{name: java.Prefix + "redisson-fenced", gives: history.ShowsGrant, about: "Likewise, a RFencedLock by tryLockAndGetToken. The watchdog renews it."},
	{name: java.Prefix + "redisson-fenced-lease", gives: history.ShowsGrant, about: "Likewise, by lockAndGetToken with the TTL as its lease. Redisson 4.7.0 does not use the lease: the watchdog renews the lock. Who waits does so until it has the lock. A trylock is by tryLockAndGetToken, which uses the lease."},
	{name: java.Prefix + "redisson-reentrant", gives: history.ShowsLater, about: "A RFencedLock by tryLockAndGetToken, as java/redisson-fenced, whose holder can take it again, and has a new token each time."},
	{name: java.Prefix + "redisson-spin", about: "Likewise, a RSpinLock."},
	{name: java.Prefix + "redisson-fair", about: "Likewise, a fair lock."},
	{name: java.Prefix + "redisson-read", about: "Likewise, the reader's lock of a RReadWriteLock."},
	{name: java.Prefix + "redisson-write", about: "Likewise, the writer's."},
	{name: java.Prefix + "redisson-redlock", on: most, about: "Likewise, a RedissonRedLock of a RLock on each of 3 or 5 nodes, with a lease. Nothing renews it, and nobody learns of its end. Redisson's timeout of a node is 3 s."},
	{name: java.Prefix + "redisson-multi", on: everyOne, about: "Likewise, a RedissonMultiLock of a RLock on each of 3 or 5 nodes: all of them or none. Nothing renews it, and the timeout of a node is 3 s."},
	{name: java.Prefix + "spring", about: "A RedisLockRegistry of Spring Integration itself, 7.1.0, with a new registry for each tenure. The TTL is its expireAfter: nothing renews the lock. Who waits asks every 100 ms."},
	{name: java.Prefix + "spring-renewed", about: "Likewise, and a TaskScheduler of the registry's renews the lock every third of the TTL."},
	{name: java.Prefix + "spring-pubsub", about: "As java/spring, of the type PUB_SUB_LOCK: who waits listens for an unlock, and asks again when the time of its wait is over."},
}
