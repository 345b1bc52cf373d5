package mariadb

import (
	"fmt"

	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

// inModel has MariaDB as the explorer's model knows it.
func inModel(d *sqlservice.About) service.Model {
	return func(v *scenario.Variant, names []string, w *model.Settings) error {
		for _, name := range names {
			if service.RecipeOf(recipes, v.Clients[name].Values) == &forUpdateNaive {
				return fmt.Errorf("%s locks the gap where it finds no row, and in the model each lock is there", name)
			}
		}
		return d.InModel(v, names, w)
	}
}
