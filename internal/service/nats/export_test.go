package nats

import (
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service"
)

// TableRecipes are all recipes, for the table of what they do.
func TableRecipes() (list []labtest.Recipe) {
	for _, r := range recipes {
		by := service.By + ": " + r.name
		list = append(list, labtest.Recipe{Name: r.name, Service: Name, Client: by, Against: by, Token: true, Whole: true})
	}
	return list
}

// Stays reports whether nothing ends the lease of a recipe: there is none.
func Stays(r labtest.Recipe) bool { return r.Name == unleased.name }
