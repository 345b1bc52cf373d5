package sqlservice

import (
	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
)

func (d *About) inModel(v *scenario.Variant, name string, w *model.Settings, c *model.Client) (lacks string) {
	client := v.Clients[name]
	by := d.by(client.Values)
	switch {
	case by.Same != nil:
		return service.LacksComparing
	case by.Inside(client.Values) && v.World.Storage.In == scenario.InService:
		return "writes inside of the transaction that has the lock, and in the model each write is done at once"
	case by.Hold == nil:
		c.Clock, c.Ahead = true, by.ByItsClock && client.Time(java.Ahead.Name) > 0
		if by.Dialect == "" {
			c.Renews = model.RenewsNever
		}
	default:
		c.Renews = model.Lasts
		if _, has := v.World.Settings[SettingIdle]; has && v.World.Settings.Time(SettingIdle) > 0 {
			c.Renews = model.RenewsNever // the session can end at any time
		}
		c.Lingers = client.Values[settingGiveUp] == giveUpLeave && client.Time(settingLockTimeout) == 0
		w.Queue = w.Queue || c.Lingers
		w.Unsent = HasStandby(v.World.Settings)
	}
	w.Redraws = HasStandby(v.World.Settings) && by.Hold == nil
	if client.Text(setting.Unlock) == unlockDelete {
		c.Releases = model.ReleasesAny
	}
	if d.Model != nil {
		return d.Model(v, name, w, c)
	}
	return ""
}
