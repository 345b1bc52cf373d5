package elasticsearch

import (
	"fmt"
	"slices"

	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
)

var modelLooks = map[string]model.Look{
	setting.LookBegin: model.LookBegin, setting.LookNothing: model.LookNothing, setting.LookSession: model.LookSession, lookDocument: model.LookService,
}

// inModel has a node of Elasticsearch as the explorer's model knows it, and the recipes of one document.
func inModel(v *scenario.Variant, names []string, w *model.Settings) error {
	for i, name := range names {
		client, c := v.Clients[name], &w.Clients[i]
		by := service.RecipeOf(recipes, client.Values)
		switch {
		case !slices.Contains([]*recipe{&guarded, &global, &exclusive, &perDocument}, by):
			return fmt.Errorf("%s takes its lock by %s, which shares it or needs several documents, and the model has no such locks", name, by.name)
		case !client.Flag(settingRefresh):
			return fmt.Errorf("%s may not find its own lock again, and in the model it does", name)
		}
		c.Token, c.Look, c.Clock = model.TokenNone, modelLooks[client.Text(setting.Look)], by.own
		c.Finally = client.Text(setting.Unlock) == unlockAlways
		switch by {
		case &guarded:
			c.Token = model.TokenGrant
		case &perDocument:
			c.Renews = model.Stays
		default:
			c.Renews, c.Releases = model.Stays, model.ReleasesAny
		}
	}
	return nil
}
