package postgres

import (
	"errors"

	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

// inModel has PostgreSQL as the explorer's model knows it: each client has a connection of its own.
func inModel(d *sqlservice.About) service.Model {
	return func(v *scenario.Variant, names []string, w *model.Settings) error {
		if isPooled(v.World.Settings) {
			return errors.New("clients share connections by a pgbouncer, and in the model each has its own")
		}
		for i, name := range names {
			w.Clients[i].Naive = service.RecipeOf(recipes, v.Clients[name].Values) == &forUpdateNaive
		}
		return d.InModel(v, names, w)
	}
}
