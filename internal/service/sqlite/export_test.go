package sqlite

import (
	"context"

	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service"
)

type (
	File = file
	Link = link
)

func (l *link) BeginImmediate(ctx context.Context) error { return l.beginImmediate(ctx) }

// Immediate is the name of the recipe whose locks have no lease.
var Immediate = immediate.ID

// TableRecipes are all recipes that are locks, for the table of what they do.
func TableRecipes() (list []labtest.Recipe) {
	for _, r := range recipes {
		if r == &deferred {
			continue
		}
		by := service.By + ": " + r.ID
		list = append(list, labtest.Recipe{Name: r.ID, Service: Name, Client: by, Against: by, Token: r == &token})
	}
	return list
}
