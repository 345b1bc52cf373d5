package mariadb

import (
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

// WaitsBy reports what InnoDB says of a connection.
var WaitsBy = waitsBy

// TableRecipes are all recipes, for the table of what they do.
func TableRecipes() (list []labtest.Recipe) {
	for _, r := range recipes {
		if r.Same != nil || r.Peer != "" {
			continue // it is no lock, or no recipe of gcsim's
		}
		row := labtest.Recipe{
			Name: r.ID, Service: Name, Client: service.By + ": " + r.ID, Against: service.By + ": " + r.ID,
			Token: r == &token,
		}
		if r.Hold != nil {
			row.World = sqlservice.SettingIdle + ": 3s"
		}
		list = append(list, row)
	}
	return list
}
