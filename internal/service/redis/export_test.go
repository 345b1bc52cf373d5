package redis

import (
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
)

// TableRecipes are all recipes of this package, for the table of what they do.
func TableRecipes() (list []labtest.Recipe) {
	for _, by := range recipes {
		if by.peer() != "" {
			continue
		}
		r := by.common()
		row := labtest.Recipe{
			Name: r.name, Service: Name, Client: service.By + ": " + r.name, Token: r.gives != "", Shared: r.mode == fence.Shared,
		}
		if row.Against = row.Client; row.Shared {
			row.Against = service.By + ": " + redissonWrite.name
		}
		if r.on != theOne {
			row.World = settingNodes + ": 3"
		}
		list = append(list, row)
	}
	return list
}
