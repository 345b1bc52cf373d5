package etcd

import (
	"fmt"
	"slices"

	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
)

var (
	modelTokens = map[string]model.Token{
		tokenRevision: model.TokenAsking, tokenHeader: model.TokenLater, tokenLease: model.TokenUnordered,
		setting.TokenMax: model.TokenMax, setting.TokenNone: model.TokenNone,
	}
	modelLooks = map[string]model.Look{
		setting.LookBegin: model.LookBegin, setting.LookNothing: model.LookNothing, setting.LookSession: model.LookSession,
		lookFirst: model.LookService, lookIsOwner: model.LookKey,
	}
)

// inModel has etcd as the explorer's model knows it: its members are one.
func inModel(v *scenario.Variant, names []string, w *model.Settings) error {
	w.Queue, w.Restores = true, v.World.Settings.Text(settingRestore)
	for i, name := range names {
		client, c := v.Clients[name], &w.Clients[i]
		if client.Text(setting.Mode) != setting.ModeExclusive {
			return fmt.Errorf("%s shares its lock, and the model has no shared locks", name)
		}
		c.Token, c.Look = modelTokens[client.Text(setting.Token)], modelLooks[client.Text(setting.Look)]
		c.High = client.Text(service.SettingMember) == memberHighest
		c.Careless = c.Token == model.TokenMax
		if owner := v.SessionOf(name); owner != "" {
			c.Session = slices.Index(names, owner)
		}
		if client.Text(setting.Session) == sessionKept || slices.ContainsFunc(names, func(other string) bool { return v.SessionOf(other) == name }) {
			c.Releases = model.ReleasesSession
		}
	}
	return nil
}
