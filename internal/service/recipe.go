package service

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/scenario/setting"
)

// Recipe is a way to take a lock that people use. Name is what scenarios call it, About
// says what it is.
type Recipe interface {
	Name() string
	About() string
}

// By is the setting of a client that chooses its recipe.
const By = "by"

// ByRecipe is the setting By of a service that has recipes.
func ByRecipe[R Recipe](recipes []R, usual R) setting.Setting {
	var names, abouts []string
	for _, r := range recipes {
		names = append(names, r.Name())
		abouts = append(abouts, r.Name()+": "+r.About())
	}
	return setting.Setting{Name: By, Default: usual.Name(), Of: names,
		About: "The recipe by which it takes its locks. " + strings.Join(abouts, " ")}
}

// RecipeOf is the recipe that a client has chosen.
func RecipeOf[R Recipe](recipes []R, client setting.Values) R {
	name := client.Text(By)
	return recipes[slices.IndexFunc(recipes, func(r R) bool { return r.Name() == name })]
}

// ErrInJava is the error of a client of this program that is to take a lock by a recipe that is a
// program in Java: see Service.Peer.
func ErrInJava(recipe string) error {
	return fmt.Errorf("%s %s: that is a client in Java, and no recipe of this program", By, recipe)
}
