package lockfile

import (
	"fmt"

	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
)

var (
	modelTokens = map[string]model.Token{tokenCounter: model.TokenApart, setting.TokenNone: model.TokenNone}
	modelLooks  = map[string]model.Look{
		setting.LookBegin: model.LookBegin, setting.LookNothing: model.LookNothing, setting.LookSession: model.LookSession, lookFile: model.LookService,
	}
)

// inModel has lock files as the explorer's model knows them.
func inModel(v *scenario.Variant, names []string, w *model.Settings) error {
	for i, name := range names {
		client, c := v.Clients[name], &w.Clients[i]
		if !service.RecipeOf(recipes, client.Values).guarded {
			return fmt.Errorf("%s can remove the file of a new holder, and nobody does that in the model", name)
		}
		c.Token, c.Look, c.Clock = modelTokens[client.Text(setting.Token)], modelLooks[client.Text(setting.Look)], true
	}
	return nil
}
