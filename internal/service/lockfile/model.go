package lockfile

import (
	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
)

// inModel has lock files whose holder has a clock of its own.
func inModel(v *scenario.Variant, name string, _ *model.Settings, c *model.Client) (lacks string) {
	if !service.RecipeOf(recipes, v.Clients[name].Values).guarded {
		return "can remove the file of a new holder, and nobody does that in the model"
	}
	c.Clock = true
	return ""
}
