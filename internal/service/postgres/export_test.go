package postgres

import "github.com/fencelab/fencelab/internal/lab/labtest"

// TableRecipes are all recipes, for the table of what they do.
func TableRecipes() (list []labtest.Recipe) {
	for _, r := range recipes {
		row := labtest.Recipe{
			Name: r.name, Service: Name, Client: settingBy + ": " + r.name, Against: settingBy + ": " + r.name,
			Token: r.shows != noToken,
		}
		if r.hold != nil {
			row.World = settingIdle + ": 3s"
		}
		list = append(list, row)
	}
	return list
}
