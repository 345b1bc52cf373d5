package zookeeper

import (
	"slices"

	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
)

// inModel has ZooKeeper's members as one. Who talks to a member that is lost to the others is cut off.
func inModel(v *scenario.Variant, name string, w *model.Settings, c *model.Client) (lacks string) {
	client := v.Clients[name]
	by := service.RecipeOf(recipes, client.Values)
	switch {
	case by.mode == fence.Shared:
		return service.LacksSharing
	case by == &unprotected && slices.ContainsFunc(v.Steps, func(s scenario.Step) bool { return s.Verb == "deafen" }):
		return "can leave a node of which it does not know, and in the model it knows each"
	case client.Text(setting.Look) == lookSynced:
		return "asks when its member has caught up, and in the model none is behind"
	case client.Text(setting.Look) == lookFirst && v.World.Settings.Flag(settingReadOnly):
		return "asks a member that may refuse its session, and in the model who asks is answered"
	case client.Text(setting.Token) != tokenCzxid:
		return "shows a number that begins anew with each parent node, and the model's numbers do not"
	}
	w.Queue, c.Token = true, model.TokenAsking
	if client.Text(setting.Look) == lookAcquired {
		c.Look = model.LookNothing
	}
	// Who takes the session for over by a third of its time without a connection is not later than ZooKeeper.
	c.Cutoff = client.Text(settingSuspended) == suspendedIgnored && client.Number(settingLost) > wholeSession/3
	if client.Text(service.SettingMember) == service.MemberObserver { // which answers when it is cut off from the others
		c.Cutoff = c.Cutoff || !v.World.Settings.Flag(settingReadOnly)
		if slices.Contains([]string{lookFirst, lookReadOnly}, client.Text(setting.Look)) {
			c.Look = model.LookNothing
		}
	}
	return ""
}
