package elasticsearch

import (
	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
)

func inModel(v *scenario.Variant, name string, _ *model.Settings, c *model.Client) (lacks string) {
	client := v.Clients[name]
	by := service.RecipeOf(recipes, client.Values)
	switch {
	case by == &versions:
		return service.LacksComparing
	case by.mode == fence.Shared:
		return service.LacksSharing
	case client.Text(settingVersion) == versionExternal:
		return "can use a version once, and in the model a token can be used again"
	case by == &bulk, by == &tree:
		return "needs several documents for its lock, and in the model one is enough"
	case !client.Flag(settingRefresh):
		return "may not find its own lock again, and in the model it does"
	case by == &guarded:
		c.Clock = true
	default:
		c.Renews = model.Stays
	}
	if by == &global || by == &exclusive {
		c.Releases = model.ReleasesAny
	}
	if client.Text(service.SettingMember) == service.MemberPrimary && client.Text(setting.Look) == lookDocument {
		c.Look = model.LookNothing // the node answers it when it is cut off from the others
	}
	c.Finally = client.Text(setting.Unlock) == unlockAlways
	return ""
}
