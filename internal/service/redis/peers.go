package redis

import (
	"strings"

	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
)

// inJava is a recipe that is a program in Java, with the library whose lock the recipe of the same
// name is.
type inJava struct{ traits }

// programs are all of them. The first word of a name is the folder below internal/clients/java.
var programs = []recipe{
	&inJava{traits{name: java.Prefix + "redisson", about: "Redisson itself, 4.7.0: a client in Java, with a RLock that the watchdog renews. The TTL is the watchdog's time."}},
	&inJava{traits{name: java.Prefix + "redisson-lease", about: "Likewise, a RLock with a lease, which nothing renews."}},
	&inJava{traits{name: java.Prefix + "redisson-fenced", gives: history.ShowsGrant, about: "Likewise, a RFencedLock by tryLockAndGetToken. The watchdog renews it."}},
	&inJava{traits{name: java.Prefix + "redisson-fenced-lease", gives: history.ShowsGrant, about: "Likewise, by lockAndGetToken with the TTL as its lease. Redisson 4.7.0 does not use the lease: the watchdog renews the lock. A waiter waits without end. A trylock is by tryLockAndGetToken, which uses the lease."}},
	&inJava{traits{name: java.Prefix + "redisson-reentrant", gives: history.ShowsLater, reenters: true, about: "As java/redisson-fenced, but its holder can take it again, with a new token each time."}},
	&inJava{traits{name: java.Prefix + "redisson-spin", about: "Likewise, a RSpinLock."}},
	&inJava{traits{name: java.Prefix + "redisson-fair", about: "Likewise, a fair lock."}},
	&inJava{traits{name: java.Prefix + "redisson-read", mode: fence.Shared, about: "Likewise, the reader's lock of a RReadWriteLock."}},
	&inJava{traits{name: java.Prefix + "redisson-write", about: "Likewise, the writer's."}},
	&inJava{traits{name: java.Prefix + "redisson-redlock", on: most, about: "Likewise, a RedissonRedLock on 3 or 5 nodes, with a lease. Nothing renews it, and nobody learns of its end. Redisson's timeout of a node is 3 s."}},
	&inJava{traits{name: java.Prefix + "redisson-multi", on: everyOne, about: "Likewise, a RedissonMultiLock on 3 or 5 nodes: all or none. Nothing renews it, and the timeout of a node is 3 s."}},
	&inJava{traits{name: java.Prefix + "spring", about: "Spring Integration's RedisLockRegistry itself, 7.1.0, a new one for each tenure. The TTL is its expireAfter: nothing renews the lock. A waiter asks every 100 ms."}},
	&inJava{traits{name: java.Prefix + "spring-renewed", about: "Likewise, and its TaskScheduler renews the lock every third of the TTL."}},
	&inJava{traits{name: java.Prefix + "spring-pubsub", about: "As java/spring, of the type PUB_SUB_LOCK: a waiter listens for an unlock, and asks again when the time of its wait is over."}},
}

func (*inJava) rules() []rule { return []rule{ofOneNode, inItsWay, unreplicated, unaskable} }

func (r *inJava) peer() string {
	folder, _, _ := strings.Cut(strings.TrimPrefix(r.name, java.Prefix), "-")
	return folder
}

func (r *inJava) dial(*client) (asker, error) { return nil, service.ErrInJava(r.name) }
