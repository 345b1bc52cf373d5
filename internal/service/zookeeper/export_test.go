package zookeeper

import (
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
)

// TableRecipes are all recipes of this package, for the table of what they do.
func TableRecipes() (list []labtest.Recipe) {
	for _, r := range recipes {
		if r.peer != "" {
			continue
		}
		row := labtest.Recipe{Name: r.name, Service: Name, Client: service.By + ": " + r.name, Against: service.By + ": " + r.name, Token: true}
		if r.mode == fence.Shared {
			row.Against, row.Shared = service.By+": "+curatorWrite.name, true
		}
		list = append(list, row)
	}
	return list
}
