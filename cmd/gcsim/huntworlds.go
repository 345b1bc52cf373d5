package main

import (
	"cmp"
	"strings"

	"github.com/fencelab/fencelab/docs"
	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/hunt"
	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/all"
)

// ofRecipe is the variant of a world that is of a lock service's recipe.
const ofRecipe = "chosen"

// recipesOf are the worlds of each recipe of a lock service in Go with which the settings go together: of some clients, and
// a storage that checks tokens where the recipe has some.
func (o huntOptions) recipesOf(of *service.Service) (list []*scenario.Scenario, wrong error) {
	recipes := []string{""}
	if by, has := setting.Find(of.Client, service.By); has {
		recipes = by.Of
	}
	clients := cmp.Or(o.clients, 2)
	if o.locks > 0 {
		clients = cmp.Or(o.clients, 4)
	}
	for _, recipe := range recipes {
		set := append([]string{"storage.fencing=on"}, o.set...)
		if recipe != "" {
			set = append(set, "clients.*.by="+recipe)
		}
		s, err := chosen(of.Name, clients, set)
		if wrong == nil {
			wrong = err // which the other recipes are likely to say, too
		}
		if err != nil || len(service.PeersOf(of, &s.Variants[0])) > 0 {
			continue // it takes settings of its own, or a program in another language
		}
		if of.Shows(s.Variants[0].Clients["client1"].Values) != history.ShowsGrant {
			set[0] = "storage.fencing=off"
			s = fail.Must(chosen(of.Name, clients, set))
		}
		s.Name = strings.ReplaceAll(strings.TrimSuffix(of.Name+"-"+recipe, "-"), "/", "-")
		list = append(list, s)
	}
	if len(list) > 0 {
		wrong = nil
	}
	return list, wrong
}

// promised is what the recipe of a world promises, by the table of its lock service.
func promised(of *service.Service, s *scenario.Scenario) hunt.Promises {
	table := fail.Must(docs.ReadTable(docs.Recipes, strings.TrimPrefix(all.Chapters(of.Name)+"/recipes.md", "docs/")))
	recipe := s.Variants[0].Clients["client1"].Values[service.By]
	does := func(property string) bool { return table.Does(recipe, property) }
	p := hunt.Promises{Exclusive: does("exclusive"), Frees: does("expires") && does("interruptible"), Ordered: does("token"), Pause: does("pause"), Servers: does("restart"), Leased: table.Applies(recipe, "pause") && !lasts(of, &s.Variants[0])}
	if s.Variants[0].World.Storage.Fencing != scenario.FencingOn {
		p.Pause = false
	}
	return p
}

// lasts reports whether client1 has its lock for as long as its session lasts, with these settings of the lock service.
func lasts(of *service.Service, v *scenario.Variant) bool {
	var c model.Client
	if of.Model != nil {
		of.Model(v, "client1", new(model.Settings), &c)
	}
	return c.Renews == model.Lasts
}
