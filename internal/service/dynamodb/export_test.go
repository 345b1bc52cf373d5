package dynamodb

import (
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service"
)

// TableRecipes are the recipes of the program, for the table of what they do.
func TableRecipes() (list []labtest.Recipe) {
	for _, r := range recipes {
		if r.peer != "" {
			continue
		}
		by := service.By + ": " + r.name
		list = append(list, labtest.Recipe{Name: r.name, Service: Name, Client: by, Against: by, Token: r.leases(), Whole: true})
	}
	return list
}

// Retakes reports whether a late unlock comes after a renewal that has taken the lock again.
func Retakes(r labtest.Recipe) bool { return r.Name == overwritten.name }
