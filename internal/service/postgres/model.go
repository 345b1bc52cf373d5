package postgres

import (
	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
)

// inModel has what PostgreSQL does otherwise than other databases.
func inModel(v *scenario.Variant, name string, w *model.Settings, c *model.Client) (lacks string) {
	if isPooled(v.World.Settings) {
		return "shares connections by a pgbouncer, and in the model each client has its own"
	}
	by := service.RecipeOf(recipes, v.Clients[name].Values)
	c.Naive, c.Skips = by == &forUpdateNaive, by == &forUpdateSkip
	w.Redraws = w.Redraws && by != &tokenClock
	return ""
}
