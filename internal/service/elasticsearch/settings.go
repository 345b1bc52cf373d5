package elasticsearch

import (
	"maps"
	"slices"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
)

const (
	settingUnlock = "unlock"
	unlockHeld    = "held"
	unlockAlways  = "always"

	settingRefresh = "refresh"
	settingAlso    = "also"
	alsoNone       = "none"

	settingCompare = "compare"

	lookDocument = "document"
)

var clientSettings = []setting.Setting{
	service.ByRecipe(recipes, &guarded),
	{Name: settingUnlock, Default: unlockHeld, Of: []string{unlockHeld, unlockAlways},
		About: "When it releases a lock. held: when it has held the lock. always: also when it did not get it, as in a \"finally\"."},
	{Name: settingRefresh, Kind: setting.Flag, Default: "true",
		About: "Whether it refreshes the index before it deletes by query (document, bulk) or searches (versions). Without that the query does not find what was created since the last refresh."},
	{Name: settingAlso, Default: alsoNone, Pattern: `^[a-z0-9.-]+(\+[a-z0-9.-]+)*$`, Want: "names with + between them, like a+b",
		About: "The documents in the lock's directory that the recipe bulk takes with the lock's document: names like 1+3. none: no others."},
	{Name: settingCompare, Kind: setting.Flag, Default: "true",
		About: "With versions: whether a change is made only if the document is as the client has found or made it."},
	{Name: setting.Look, Default: setting.LookBegin, Of: []string{setting.LookBegin, setting.LookNothing, setting.LookSession, lookDocument},
		About: setting.LookAbout + "session: at the end of the lease by its own clock; without a lease it believes that it holds the lock. document: it asks Elasticsearch whether the document names it; with global-guarded, global-guarded-read, document and bulk."},
}

// compares reports whether a client's changes compare a document with what it has found.
func compares(c scenario.Client) bool {
	return service.RecipeOf(recipes, c.Values) == &versions && c.Flag(settingCompare)
}

func check(w scenario.World, clients map[string]scenario.Client) *scenario.Conflict {
	inService := w.Storage.In == scenario.InService
	for _, name := range slices.Sorted(maps.Keys(clients)) {
		c := clients[name]
		by := service.RecipeOf(recipes, c.Values)
		switch {
		case by == &versions && !inService:
			return &scenario.Conflict{Client: name, Setting: service.By, Text: by.name + " compares the documents that have the data: it needs \"storage: {in: service}\""}
		case by != &versions && !c.Flag(settingCompare):
			return &scenario.Conflict{Client: name, Setting: settingCompare, Text: by.name + " compares nothing: leave \"compare\" out"}
		case inService && c.Text(setting.Change) != setting.ChangeSingly:
			return &scenario.Conflict{Client: name, Setting: setting.Change, Text: "Elasticsearch changes no two documents in one step: want \"change: singly\""}
		}
	}
	return nil
}
