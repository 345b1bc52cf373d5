package mariadb

import (
	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
)

// inModel has what MariaDB does otherwise than other databases.
func inModel(v *scenario.Variant, name string, _ *model.Settings, _ *model.Client) (lacks string) {
	if service.RecipeOf(recipes, v.Clients[name].Values) == &forUpdateNaive {
		return "locks the gap where it finds no row, and in the model each lock is there"
	}
	return ""
}
