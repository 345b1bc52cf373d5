package redis

import (
	"github.com/fencelab/fencelab/internal/peers"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/setting"
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
	{Name: settingNodes, Kind: setting.Number, Default: "1", Of: []string{"1", "3", "5"}, About: "How many nodes it has that know nothing of one another, for locks of a majority."},
	{Name: settingReplicas, Kind: setting.Number, Default: "0", Of: []string{"0", "1"},
		About: "How many replicas its only node has, which it tells what it did after it has answered. The replica of redis1 is redis2."},
	{Name: settingPersistence, Default: persistenceNone, Of: []string{persistenceNone, persistenceEverysec, persistenceAlways},
		About: "What a node that is killed still knows when it is started again. none: nothing. everysec: what is a second or two old (appendfsync everysec). always: all that it answered (appendfsync always)."},
	{Name: settingEviction, Default: evictionNone, Of: []string{evictionNone, evictionVolatile, evictionAllkeys},
		About: "What a node does when its memory is full. none: it takes no more (noeviction). volatile: it evicts keys that have a time to live (volatile-lru). allkeys: it evicts any keys (allkeys-lru)."},
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
		About: "How it releases a lock. del: it deletes the key. compare: a script deletes the key if that has the client's own value."},
	{Name: settingRenew, Default: renewNone, Of: []string{renewNone, renewWatchdog, renewBounded, renewSet},
		About: "Whether it makes its lease longer. none: never. watchdog: a thread does so every third of the TTL while the lock is the client's. bounded: the same, for three TTLs. set: a thread does so by SET with PX, whosever the lock is, and takes it again where it is gone."},
	{Name: settingWait, Kind: setting.Number, Default: "0", Of: []string{"0", "1"},
		About: "How many replicas must have its lock before it goes on (WAIT). Where they do not have it within a second it gives the lock back, and has not got it."},
	{Name: setting.Token, Default: tokenGranted, Of: []string{tokenGranted, setting.TokenReadAgain},
		About: "Which number it shows as its token. granted: that of its grant. read-again: what the lock's counter says right before it sends a request."},
	{Name: setting.Look, Default: setting.LookBegin, Of: []string{setting.LookBegin, setting.LookNothing, setting.LookSession, lookOwner},
		About: "How it looks whether it holds the lock before it writes. begin: at its own clock where it begins a write, else not at all. nothing: never. session: at its own clock, by which the lease has or has not run out. owner: it asks Redis whether the key has its own value."},
	peers.Collector, peers.Ahead,
}
