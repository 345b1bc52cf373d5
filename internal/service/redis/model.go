package redis

import (
	"errors"
	"fmt"
	"slices"

	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
)

var (
	modelTokens   = map[string]model.Token{history.ShowsGrant: model.TokenGrant, history.ShowsLater: model.TokenApart, "": model.TokenNone}
	modelReleases = map[string]model.Releases{unlockCompare: model.ReleasesOwn, unlockDel: model.ReleasesAny}
	modelLooks    = map[string]model.Look{
		setting.LookBegin: model.LookBegin, setting.LookNothing: model.LookNothing, setting.LookSession: model.LookSession,
		lookOwner: model.LookService,
	}
	// modelRenewals: the model has no time, and so a lease with a bound can end whenever it wants.
	modelRenewals = map[string]model.Renewal{
		renewNone: model.RenewsNever, renewBounded: model.RenewsNever, renewWatchdog: model.RenewsAlways, renewSet: model.Retakes,
	}
)

// inModel has Redis as the explorer's model knows it: its nodes are one, and who waits asks again.
func inModel(v *scenario.Variant, names []string, w *model.Settings) error {
	world := v.World.Settings
	switch {
	case world.Number(settingReplicas) > 0:
		return errors.New("the node has a replica, and the model's lock service is one node")
	case world.Text(settingEviction) != evictionNone:
		return errors.New("the node evicts keys, and the model's memory is never full")
	}
	for i, name := range names {
		client, c := v.Clients[name], &w.Clients[i]
		by := service.RecipeOf(recipes, client.Values)
		if lacks := modelLacks(by, client); lacks != "" {
			return fmt.Errorf("%s takes its lock by %s: %s", name, by.common().name, lacks)
		}
		c.Token, c.Look, c.Clock = modelTokens[by.common().gives], modelLooks[client.Text(setting.Look)], true
		if client.Text(setting.Token) == setting.TokenReadAgain {
			c.Token = model.TokenAgain
		}
		c.Listens, c.Prolongs = by == recipe(&listenOnly), by == recipe(&multiExpire)
		w.Kept = w.Kept || isRedissonFair(by)
		w.Queue = w.Queue || w.Kept || by == recipe(&ownFair)
		c.Halfway, c.Unleased = byRequests(by), by == recipe(&setnxExpire)
		c.Reenters, c.Raises = isReentrant(by), isReentrant(by) && by != recipe(&ownReentrant)
		c.Releases, c.Renews = modelReleases[client.Text(setting.Unlock)], modelRenewals[client.Text(settingRenew)]
		if !byRequests(by) && !slices.Contains([]string{spring.name, java.Prefix + "spring", java.Prefix + "redisson-lease"}, by.common().name) {
			c.Renews = model.RenewsAlways
		}
	}
	return nil
}

// byRequests reports whether the clients of a recipe send its requests one by one.
func byRequests(by recipe) bool {
	switch by.(type) {
	case *plain, *scripted:
		return true
	}
	return false
}

// isRedissonFair reports whether a place in a lock's queue outlasts its client by minutes.
func isRedissonFair(by recipe) bool {
	return by == recipe(&redissonFair) || by.common().name == java.Prefix+redissonFair.name
}

// isReentrant reports whether a holder can take its lock again.
func isReentrant(by recipe) bool {
	return by.common().reenters || by.common().name == java.Prefix+"redisson-reentrant"
}

// modelLacks says what the model does not know of a client's lock; "": it knows all.
func modelLacks(by recipe, client scenario.Client) string {
	switch r := by.common(); {
	case r.mode == fence.Shared, r.name == java.Prefix+"redisson-read":
		return "it shares the lock, and the model has no shared locks"
	case isRedissonFair(by) && client.Time(java.Ahead.Name) > 0:
		return "its clock is ahead, so that it ends the places of others, and nobody does that in the model"
	case r.name == java.Prefix+"spring-pubsub":
		return "who waits asks again when its time is over, and the model has no time"
	}
	return ""
}
