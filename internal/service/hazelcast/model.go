package hazelcast

import (
	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
)

var modelLooks = map[string]model.Look{
	setting.LookBegin: model.LookBegin, setting.LookNothing: model.LookNothing, setting.LookSession: model.LookSession,
}

// inModel has Hazelcast as the explorer's model knows it: its members are one.
func inModel(v *scenario.Variant, names []string, w *model.Settings) error {
	for i, name := range names {
		c := &w.Clients[i]
		c.Token, c.Look, c.Reenters = model.TokenGrant, modelLooks[v.Clients[name].Text(setting.Look)], true
	}
	return nil
}
