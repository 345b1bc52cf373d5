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
	settingSentinels   = "sentinels"
	settingMinReplicas = "min-replicas"
	settingCluster     = "cluster"
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
	{Name: settingNodes, Kind: setting.Number, Default: "1", Of: []string{"1", "3", "5"}, About: "How many nodes it has that know nothing of one another. A node is a redis-server or valkey-server on PATH, else an embedded server, which has no replicas, persistence or eviction."},
	{Name: settingReplicas, Kind: setting.Number, Default: "0", Of: []string{"0", "1", "2"},
		About: "How many replicas its only node has. 1: the node, redis1, has a replica, redis2; it first answers a client, and then tells redis2. Clients find the master at one address, as behind a proxy. 2: likewise, with redis3; needs sentinels."},
	{Name: settingSentinels, Kind: setting.Number, Default: "0", Of: []string{"0", "3"},
		About: "How many sentinels watch the nodes (redis-server --sentinel). 3: when two of them have not heard from redis1 for 2 s, they promote redis2, and have redis3 follow it. The clients' proxy asks them."},
	{Name: settingMinReplicas, Kind: setting.Number, Default: "0", Of: []string{"0", "1"},
		About: "From how many replicas a master must have heard in the last 3 s or so to take writes (min-replicas-to-write, min-replicas-max-lag). Needs sentinels."},
	{Name: settingCluster, Default: "false", Kind: setting.Flag,
		About: "Whether its nodes are the masters of one Redis Cluster, without replicas: each key is on one of them. Needs nodes: 3, and clients with votes: cluster."},
	{Name: settingPersistence, Default: persistenceNone, Of: []string{persistenceNone, persistenceEverysec, persistenceAlways},
		About: "What a killed node still knows when it is started again. none: nothing. everysec: all but its answers of the last second or two (appendfsync everysec). always: all that it answered (appendfsync always)."},
	{Name: settingEviction, Default: evictionNone, Of: []string{evictionNone, evictionVolatile, evictionAllkeys},
		About: "What a node evicts when its memory, 8 MiB, is full. none: nothing, it refuses writes (noeviction). volatile: keys that have a time to live (volatile-lru). allkeys: any keys (allkeys-lru)."},
}

// The settings of its clients.
const (
	unlockDel     = "del"
	unlockCompare = "compare"

	settingRenew  = "renew"
	renewNone     = "none"
	renewWatchdog = "watchdog"
	renewBounded  = "bounded"
	renewSet      = "set"

	settingWait = "wait"

	settingVotes = "votes"
	votesNodes   = "nodes"
	votesCluster = "cluster"

	settingBeside = "beside"
	besideNone    = "none"

	lookOwner = "owner"
)

var clientSettings = []setting.Setting{
	service.ByRecipe(recipes, recipe(&setNXPX)),
	{Name: setting.Unlock, Default: unlockCompare, Of: []string{unlockDel, unlockCompare},
		About: "How it releases a lock. del: it deletes the key, whoever holds the lock. compare: a script deletes the key if that has its own value."},
	{Name: settingRenew, Default: renewNone, Of: []string{renewNone, renewWatchdog, renewBounded, renewSet},
		About: "What renews its lease, if its recipe does not. none: nothing. watchdog: a thread, every third of the TTL while the lock is the client's. bounded: as watchdog, for three TTLs at most. set: a thread, by SET with PX every third of the TTL, whoever holds the lock; so it can take a lost lock again."},
	{Name: settingWait, Kind: setting.Number, Default: "0", Of: []string{"0", "1"},
		About: "How many replicas must have its lock before it goes on (WAIT). After a second without that it releases the lock, and the step has failed."},
	{Name: settingBeside, Default: besideNone, Of: []string{besideNone, firstMaster},
		About: "The node on whose side of the network it is. none: it finds the master where the sentinels say. redis1: it speaks to redis1, also while redis1 is isolated, and hears nothing of the sentinels."},
	{Name: settingVotes, Default: votesNodes, Of: []string{votesNodes, votesCluster},
		About: "By which clients a recipe of package redislock asks the nodes. nodes: by one of each node. cluster: by clients of the Redis Cluster, which know one node each at first, and go to the master that has the key; redlock has three of them, other recipes have one."},
	{Name: setting.Token, Default: setting.TokenGranted, Of: []string{setting.TokenGranted, setting.TokenReadAgain},
		About: "Its token for the storage. granted: its grant's. read-again: the one that Redis gave out last for the lock, to whomever, read right before each request; needs a recipe with a token."},
	setting.LookOf("session: at the end of the lease by its own clock. owner: it asks Redis whether the key has its own value.", lookOwner),
	java.Collector, java.Ahead,
}
