package kubernetes

import (
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service"
)

// TableRecipes are all recipes, for the table of what they do. A waiter asks every few seconds.
func TableRecipes() (list []labtest.Recipe) {
	for _, r := range recipes {
		by := service.By + ": " + r.name
		list = append(list, labtest.Recipe{Name: r.name, Service: Name, Client: by + ", timeout: 30s", Against: by, Token: true, Whole: true})
	}
	return list
}

// Keeps reports whether a recipe has no unlock.
func Keeps(r labtest.Recipe) bool { return r.Name == noRelease.name || r.Name == longDeadline.name }
