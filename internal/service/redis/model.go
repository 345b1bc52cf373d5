package redis

import (
	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
)

// modelRenewals: the model has no time, so that a lease with a bound can end at any time.
var modelRenewals = map[string]model.Renewal{
	renewNone: model.RenewsNever, renewBounded: model.RenewsNever, renewWatchdog: model.RenewsAlways, renewSet: model.Retakes,
}

var modelEvictions = map[string]model.Eviction{
	evictionNone: model.EvictsNothing, evictionVolatile: model.EvictsLeases, evictionAllkeys: model.EvictsAll,
}

// inModel has Redis with nodes that know nothing of one another, or with one.
func inModel(v *scenario.Variant, name string, w *model.Settings, c *model.Client) (lacks string) {
	client, world := v.Clients[name], v.World.Settings
	by := service.RecipeOf(recipes, client.Values)
	r := by.common()
	switch {
	case world.Number(settingSentinels) > 0:
		return "asks nodes that choose their master, which the nodes of the model do not"
	case world.Flag(settingCluster):
		return "asks a Redis Cluster, and the model's nodes know nothing of one another"
	case r.mode == fence.Shared:
		return service.LacksSharing
	}
	c.Clock, w.Redraws = true, world.Number(settingReplicas) > 0
	persistence, nodes := world.Text(settingPersistence), world.Number(settingNodes)
	w.Persists, w.Evicts = persistence == persistenceAlways, modelEvictions[world.Text(settingEviction)]
	if persistence != persistenceEverysec && (nodes == 1 || needs(v.Clients, nodes) < nodes) {
		w.Nodes = nodes
	}
	c.Reenters, c.Raises = r.reenters, r.reenters && r.gives == history.ShowsLater
	if client.Text(setting.Unlock) == unlockDel {
		c.Releases = model.ReleasesAny
	}
	switch by.(type) {
	case *plain, *scripted: // it sends its requests one by one
		c.Halfway, c.Renews = true, modelRenewals[client.Text(settingRenew)]
	}
	switch r.name {
	case setnxExpire.name:
		c.Unleased = true
	case multiExpire.name:
		c.Prolongs = true
	case listenOnly.name:
		c.Listens = true
	case ownFair.name:
		w.Queue = true
	case redissonFair.name, java.Prefix + redissonFair.name:
		w.Queue, w.Kept, c.Clears = true, true, client.Time(java.Ahead.Name) > 0
	case redlock.name, spring.name, java.Prefix + spring.name, java.Prefix + "shedlock-redis-safe", java.Prefix + "redisson-lease":
		c.Renews = model.RenewsNever
	case java.Prefix + "redisson-redlock", java.Prefix + redissonMulti.name: // they do not learn of its end, either
		c.Renews, c.Look = model.RenewsNever, model.LookNothing
	case java.Prefix + "shedlock-redis":
		c.Renews, c.Releases = model.RenewsNever, model.ReleasesAny
	case java.Prefix + "shedlock-redis-extended":
		return "takes its lock back by extend only while another client has it, which no client of the model does"
	case java.Prefix + "spring-pubsub":
		return "asks again when the time of its wait is over, and the model has no time"
	}
	return ""
}
