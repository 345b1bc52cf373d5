package zookeeper

import (
	"fmt"
	"slices"

	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
)

var modelLooks = map[string]model.Look{
	setting.LookBegin: model.LookBegin, setting.LookNothing: model.LookNothing, setting.LookSession: model.LookSession,
	lookAcquired: model.LookNothing, lookFirst: model.LookService,
}

// inModel has ZooKeeper as the explorer's model knows it: its members are one.
func inModel(v *scenario.Variant, names []string, w *model.Settings) error {
	w.Queue = true
	deafens := slices.ContainsFunc(v.Steps, func(s scenario.Step) bool { return s.Verb == "deafen" })
	for i, name := range names {
		client, c := v.Clients[name], &w.Clients[i]
		by := service.RecipeOf(recipes, client.Values)
		switch {
		case by.mode == fence.Shared || by == &peerRead:
			return fmt.Errorf("%s shares its lock, and the model has no shared locks", name)
		case by == &unprotected && deafens:
			return fmt.Errorf("%s can leave a node of which it does not know, and in the model it knows each", name)
		case client.Text(setting.Token) != tokenCzxid:
			return fmt.Errorf("%s shows a number that begins anew with each parent node, and the model's numbers do not", name)
		}
		c.Look = modelLooks[client.Text(setting.Look)]
		c.Cutoff = client.Text(settingSuspended) == suspendedIgnored
	}
	return nil
}
