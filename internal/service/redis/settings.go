package redis

import (
	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
)

// The settings of its servers.
const (
	settingNodes       = "nodes"
	settingReplicas    = "replicas"
	settingPersistence = "persistence"

	persistenceNone     = "none"
	persistenceEverysec = "everysec"
	persistenceAlways   = "always"

	settingEviction  = "eviction"
	evictionNone     = "none"
	evictionVolatile = "volatile"
	evictionAllkeys  = "allkeys"
)

var worldSettings = []setting.Setting{
	{Name: settingNodes, Kind: setting.Number, Default: "1", Of: []string{"1", "3", "5"}, About: "How many nodes it has that know nothing of one another, for locks of a majority. A node is a redis-server or valkey-server, if one is on PATH, else an embedded server."},
	{Name: settingReplicas, Kind: setting.Number, Default: "0", Of: []string{"0", "1"},
		About: "How many replicas its only node has. 1: the node, redis1, has a replica, redis2. It first answers a client, and then tells redis2 what it did. Clients find the master at one address, as behind a proxy. The embedded server has no replicas."},
	{Name: settingPersistence, Default: persistenceNone, Of: []string{persistenceNone, persistenceEverysec, persistenceAlways},
		About: "What a node that is killed still knows when it is started again. none: nothing. everysec: all but what it answered in the last second or two (appendfsync everysec). always: all that it answered (appendfsync always). The embedded server has only none."},
	{Name: settingEviction, Default: evictionNone, Of: []string{evictionNone, evictionVolatile, evictionAllkeys},
		About: "What a node does when its memory, 8 MiB, is full. none: it refuses writes (noeviction). volatile: it evicts keys that have a time to live (volatile-lru). allkeys: it evicts any keys (allkeys-lru). The embedded server evicts nothing."},
}

// The settings of its clients.
const (
	settingUnlock = "unlock"
	unlockDel     = "del"
	unlockCompare = "compare"

	settingRenew  = "renew"
	renewNone     = "none"
	renewWatchdog = "watchdog"
	renewBounded  = "bounded"
	renewSet      = "set"

	settingWait = "wait"

	tokenGranted = "granted"

	lookOwner = "owner"
)

var clientSettings = []setting.Setting{
	service.ByRecipe(recipes, recipe(&setNXPX)),
	{Name: settingUnlock, Default: unlockCompare, Of: []string{unlockDel, unlockCompare},
		About: "How it releases a lock. del: it deletes the key, whoever holds the lock. compare: a script deletes the key if the key has the client's own value."},
	{Name: settingRenew, Default: renewNone, Of: []string{renewNone, renewWatchdog, renewBounded, renewSet},
		About: "What renews its lease, if its recipe does not do so itself. none: nothing, and the lease runs out after the TTL. watchdog: a thread renews the lease every third of the TTL while the lock is the client's. bounded: as watchdog, for three TTLs and no longer. set: a thread sets the key by SET with PX every third of the TTL, whoever holds the lock, and so can take a lost lock again."},
	{Name: settingWait, Kind: setting.Number, Default: "0", Of: []string{"0", "1"},
		About: "How many replicas must have its lock before it goes on (WAIT). If they do not have the lock within a second, it gives the lock back, and the step has failed."},
	{Name: setting.Token, Default: tokenGranted, Of: []string{tokenGranted, setting.TokenReadAgain},
		About: "Which number it shows to the storage as its token. granted: the token of its grant. read-again: the token that Redis gave out last for the lock, to whomever; it reads this token right before it sends a request. That needs a recipe that has a token."},
	{Name: setting.Look, Default: setting.LookBegin, Of: []string{setting.LookBegin, setting.LookNothing, setting.LookSession, lookOwner},
		About: "How it looks whether it holds the lock before it writes. begin: at its own clock where it begins a write, else not at all. nothing: never. session: at its own clock, by which the lease has or has not run out. owner: it asks Redis whether the key has its own value."},
	java.Collector, java.Ahead,
}
