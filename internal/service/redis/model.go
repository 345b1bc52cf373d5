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

// inModel has the nodes of Redis as one.
func inModel(v *scenario.Variant, name string, w *model.Settings, c *model.Client) (lacks string) {
	client, world := v.Clients[name], v.World.Settings
	by := service.RecipeOf(recipes, client.Values)
	r := by.common()
	switch {
	case world.Number(settingSentinels) > 0:
		return "asks nodes that choose their master, and the model's lock service is one node"
	case world.Flag(settingCluster):
		return "asks a Redis Cluster, and the model's lock service is one node"
	case world.Text(settingEviction) != evictionNone:
		return "asks a node that evicts keys, and the model's memory is never full"
	case r.mode == fence.Shared:
		return service.LacksSharing
	}
	c.Clock, w.Redraws = true, world.Number(settingReplicas) > 0
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
		if client.Time(java.Ahead.Name) > 0 {
			return "has a clock that is ahead, so that it ends the places of others, and nobody does that in the model"
		}
		w.Queue, w.Kept = true, true
	case redlock.name, spring.name, java.Prefix + spring.name, java.Prefix + "redisson-lease":
		c.Renews = model.RenewsNever
	case java.Prefix + "redisson-redlock", java.Prefix + redissonMulti.name: // they do not learn of its end, either
		c.Renews, c.Look = model.RenewsNever, model.LookNothing
	case java.Prefix + "spring-pubsub":
		return "asks again when the time of its wait is over, and the model has no time"
	}
	return ""
}
