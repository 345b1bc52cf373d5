package sqlservice

import (
	"fmt"

	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
)

var modelLooks = map[string]model.Look{
	setting.LookBegin: model.LookBegin, setting.LookNothing: model.LookNothing, setting.LookSession: model.LookSession,
}

// InModel has a database as the explorer's model knows it.
func (d *About) InModel(v *scenario.Variant, names []string, w *model.Settings) error {
	idles := v.World.Settings[SettingIdle] != "" && v.World.Settings.Time(SettingIdle) > 0
	for i, name := range names {
		client := v.Clients[name]
		by := d.by(client.Values)
		if lacks := modelLacks(by, client, v.World.Storage.In); lacks != "" {
			return fmt.Errorf("%s takes its lock by %s: %s", name, by.ID, lacks)
		}
		c := &w.Clients[i]
		c.Token, c.Look, c.Clock = model.TokenNone, modelLooks[client.Text(setting.Look)], by.Hold == nil
		if by.Shows == history.ShowsGrant {
			c.Token = model.TokenGrant
		}
		c.Lingers = by.Hold != nil && client.Values[settingGiveUp] == giveUpLeave && client.Time(settingLockTimeout) == 0
		w.Queue = w.Queue || c.Lingers
		c.Ahead = (by.ByItsClock || by.Peer != "") && client.Time(java.Ahead.Name) > 0
		switch {
		case by.Hold != nil && !idles:
			c.Renews = model.Lasts
		case by.Hold != nil, by.Take != nil, by.Peer != "": // a session that is idle can end, and so can a lease
			c.Renews = model.RenewsNever
		}
		if client.Text(setting.Unlock) == unlockDelete {
			c.Releases = model.ReleasesAny
		}
	}
	return nil
}

// modelLacks says what the model does not know of a client's lock; "": it knows all.
func modelLacks(by *Recipe, client scenario.Client, in string) string {
	switch {
	case by.Inside(client.Values) && in == scenario.InService:
		return "its writes are a part of the transaction that has the lock, and in the model each write is done at once"
	case by.Same != nil:
		return "it is no lock, but a comparison, and the model has locks alone"
	}
	return ""
}
