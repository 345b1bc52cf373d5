package redis

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
)

// rule refuses what a client has chosen beside its recipe.
type rule struct {
	setting string
	broken  func(r *traits, c scenario.Client) bool
	text    string // after the name of the recipe
}

func renews(_ *traits, c scenario.Client) bool { return c.Text(settingRenew) != renewNone }

func renewsOrFrees(r *traits, c scenario.Client) bool {
	return renews(r, c) || c.Text(settingUnlock) != unlockCompare
}

func waits(_ *traits, c scenario.Client) bool { return c.Number(settingWait) > 0 }

var (
	ofOneNode = rule{settingRenew, func(r *traits, c scenario.Client) bool { return r.on != theOne && renews(r, c) },
		`renews nothing: leave "renew" out`}
	inItsWay = rule{service.By, renewsOrFrees, `renews and releases its locks in its own way: leave "renew" and "unlock" out`}
	asItIs   = rule{service.By, func(r *traits, c scenario.Client) bool { return renewsOrFrees(r, c) || waits(r, c) },
		`has a lease that nothing renews, and an unlock of its own: leave "renew", "unlock" and "wait" out`}
	unreplicated = rule{settingWait, waits, `waits for no replica: leave "wait" out`}
	unaskable    = rule{setting.Look, func(r *traits, c scenario.Client) bool { return r.on != theOne && c.Text(setting.Look) == lookOwner },
		`cannot be asked whether a majority has the lock: leave "look" out`}
	countless = rule{setting.Token, func(r *traits, c scenario.Client) bool { return r.gives == "" && c.Text(setting.Token) != tokenGranted },
		`counts no token that could be read again: leave "token" out`}
)

func check(w scenario.World, clients map[string]scenario.Client) *scenario.Conflict {
	n, replicas := w.Settings.Number(settingNodes), w.Settings.Number(settingReplicas)
	if n > 1 && replicas > 0 {
		return &scenario.Conflict{Setting: settingReplicas, Text: fmt.Sprintf("a node alone has a replica, and the world has %d nodes: want \"nodes: 1\"", n)}
	}
	other, otherOn := "", theOne // a client whose lock is of several nodes
	for _, name := range slices.Sorted(maps.Keys(clients)) {
		c := clients[name]
		by := service.RecipeOf(recipes, c.Values)
		r := by.common()
		conflict := func(setting, text string, args ...any) *scenario.Conflict {
			return &scenario.Conflict{Client: name, Setting: setting, Text: fmt.Sprintf(text, args...)}
		}
		switch {
		case r.on != theOne && otherOn != theOne && r.on != otherOn:
			return conflict(service.By, "%s's lock needs all nodes or most of them, and %s's the other: "+
				"by its keys nobody can tell which of them holds it. Want one of these for all clients", name, other)
		case (r.on == theOne) != (n == 1):
			return conflict(service.By, "the world has %d nodes of Redis, and %s is no lock of so many: "+
				"redlock and its kin need 3 or 5, every other recipe 1", n, r.name)
		case r.on != theOne:
			other, otherOn = name, r.on
		}
		for _, rule := range append(by.rules(), countless) {
			if rule.broken(r, c) {
				return conflict(rule.setting, "%s %s", r.name, rule.text)
			}
		}
		if by.peer() == "" {
			if inNoJVM := java.CheckOther(name, r.name, c.Values, java.Collector, java.Ahead); inNoJVM != nil {
				return inNoJVM
			}
		}
		if want := c.Number(settingWait); want > replicas {
			return conflict(settingWait, "it waits for %d replicas, and Redis has %d: want \"replicas: %[1]d\"", want, replicas)
		}
	}
	return nil
}
