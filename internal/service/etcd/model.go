package etcd

import (
	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
)

// modelTokens: etcd counts its changes, and a lease ID is none of these numbers.
var modelTokens = map[string]model.Token{tokenRevision: model.TokenAsking, tokenHeader: model.TokenLater, tokenLease: model.TokenUnordered}

// inModel has etcd's members as one.
func inModel(v *scenario.Variant, name string, w *model.Settings, c *model.Client) (lacks string) {
	client := v.Clients[name]
	if client.Text(setting.Mode) != setting.ModeExclusive {
		return service.LacksSharing
	}
	w.Queue, w.Redraws = true, v.World.Settings.Text(settingRestore) == restorePlain
	if token, is := modelTokens[client.Text(setting.Token)]; is {
		c.Token = token
	}
	if client.Text(setting.Look) == lookIsOwner {
		c.Look = model.LookKey
	}
	c.High = client.Text(service.SettingMember) == memberHighest
	if client.Text(setting.Session) == sessionKept {
		c.Releases = model.ReleasesSession
	}
	return ""
}
