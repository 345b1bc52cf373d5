package redis

import (
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/peers"
)

// The folders below peers/java with the locks of Redisson and of Spring Integration.
const (
	peerRedisson = "redisson"
	peerSpring   = "spring"
)

// inJava are the recipes that are not this package's: programs in Java, with the libraries
// whose locks the recipes of the same names are.
var inJava = []*recipe{
	{name: peers.Prefix + "redisson", shows: noToken, peer: peerRedisson, about: "Redisson itself, 4.7.0: a client in Java, with a RLock that the watchdog renews. The TTL is the watchdog's time."},
	{name: peers.Prefix + "redisson-lease", shows: noToken, peer: peerRedisson, about: "Likewise, a RLock with a lease, which nothing renews."},
	{name: peers.Prefix + "redisson-fenced", shows: history.ShowsGrant, peer: peerRedisson, about: "Likewise, a RFencedLock by tryLockAndGetToken. The watchdog renews it."},
	{name: peers.Prefix + "redisson-fenced-lease", shows: history.ShowsGrant, peer: peerRedisson, about: "Likewise, by lockAndGetToken with the TTL as its lease. Redisson 4.7.0 does not use the lease: the watchdog renews the lock. Who waits does so until it has the lock. A trylock is by tryLockAndGetToken, which uses the lease."},
	{name: peers.Prefix + "redisson-reentrant", shows: history.ShowsLater, peer: peerRedisson, about: "A RFencedLock by tryLockAndGetToken, as java/redisson-fenced, whose holder can take it again, and has a new token each time."},
	{name: peers.Prefix + "redisson-spin", shows: noToken, peer: peerRedisson, about: "Likewise, a RSpinLock."},
	{name: peers.Prefix + "redisson-fair", shows: noToken, peer: peerRedisson, about: "Likewise, a fair lock."},
	{name: peers.Prefix + "redisson-read", shows: noToken, peer: peerRedisson, about: "Likewise, the reader's lock of a RReadWriteLock."},
	{name: peers.Prefix + "redisson-write", shows: noToken, peer: peerRedisson, about: "Likewise, the writer's."},
	{name: peers.Prefix + "redisson-redlock", shows: noToken, peer: peerRedisson, quorum: true, about: "Likewise, a RedissonRedLock of a RLock on each of 3 or 5 nodes, with a lease. Nothing renews it, and nobody learns of its end. Redisson's timeout of a node is 3 s."},
	{name: peers.Prefix + "redisson-multi", shows: noToken, peer: peerRedisson, quorum: true, every: true, about: "Likewise, a RedissonMultiLock: all nodes or none."},
	{name: peers.Prefix + "spring", shows: noToken, peer: peerSpring, about: "A RedisLockRegistry of Spring Integration itself, 7.1.0, with a new registry for each tenure. The TTL is its expireAfter: nothing renews the lock. Who waits asks every 100 ms."},
	{name: peers.Prefix + "spring-renewed", shows: noToken, peer: peerSpring, about: "Likewise, and a TaskScheduler of the registry's renews the lock every third of the TTL."},
	{name: peers.Prefix + "spring-pubsub", shows: noToken, peer: peerSpring, about: "As java/spring, of the type PUB_SUB_LOCK: who waits listens for an unlock, and asks again when the time of its wait is over."},
}
