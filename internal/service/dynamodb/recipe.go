package dynamodb

import (
	"maps"
	"slices"

	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
)

// recipe is a way to take a lock by an item. Its code is in the program, or in a library that is a program in Java.
type recipe struct {
	name, about string
	peer        string // service.Service.Peer

	renews   model.Renewal
	releases model.Releases
	forgets  bool // the unlock deletes the token, too
}

var recipes = []*recipe{&counted, &overwritten, &deleted, &deletedAny, &compared, &created, &original}

var (
	counted = recipe{name: "lease",
		about: "The item is as Amazon's lock client has it, and has a token: it names the holder, and says how long the lease lasts. A number that is another one after each write, the record version number, shows that the holder renews the lease, every third of the TTL. Each write is a PutItem, if holder and record version number are those that were read. A waiter takes the lock over when it has seen the same record version number for as long as the lease lasts. It writes the next token. The unlock writes that the lock is free: the item stays, with the token. A waiter asks again every 100 ms."}
	overwritten = recipe{name: "lease-overwrite", renews: model.Retakes,
		about: "As lease, but a renewal is a PutItem without a condition."}
	deleted = recipe{name: "lease-delete", forgets: true,
		about: "As lease, but the unlock is a DeleteItem, with a condition. The token begins again at 1."}
	deletedAny = recipe{name: "lease-delete-any", releases: model.ReleasesAny, forgets: true,
		about: "As lease-delete, but the unlock is a DeleteItem without a condition."}
	compared = recipe{name: "lease-until",
		about: "The item says when the lease is over, by the holder's clock. Who wants the lock compares this time with its own clock, in the condition of an UpdateItem that also adds 1 to the token. The holder renews the lease every third of the TTL, if the item still names it, unless the lease is over. The unlock says that the lease was over long ago. A waiter asks again every 100 ms."}
	original = recipe{name: java.Prefix + "dynamodb-lock-client", peer: java.Prefix + Name,
		about: "Amazon's own lock client, 1.4.0: a client in Java, with a new lock client for each tenure, which renews the lease every third of the TTL. It has no token: the record version number is random. The unlock is a DeleteItem, with a condition. A waiter asks every 100 ms."}
	created = recipe{name: "create", renews: model.Stays,
		about: "The item names the holder, and has no lease and no token. Who finds none makes it: a PutItem with attribute_not_exists. The unlock is a DeleteItem, with a condition."}
)

func (r *recipe) Says() (name, about string) { return r.name, r.about }

// counts reports whether the item has a token.
func (r *recipe) counts() bool { return r.leases() && r != &original }

// leases reports whether the lock has a lease.
func (r *recipe) leases() bool { return r.renews != model.Stays }

var clientSettings = []setting.Setting{
	service.ByRecipe(recipes, &counted),
	java.Collector,
	{Name: setting.Ahead, Kind: setting.Time, Default: "0s", Pattern: `^(0|[1-9][0-9]*)(ms|s|m)$`, About: "How far its clock is ahead of the others."},
	{Name: settingFence, Default: fenceNone, Of: []string{fenceNone, fenceLock, fenceMark},
		About: "With storage: {in: service}: what a change compares. Each is one TransactWriteItems, also of several keys. none: nothing. lock: the item of the lock still has the client's token, in a ConditionCheck. mark: no item that it changes has a higher token than the client's, which is written into each; a delete leaves the token there. A read compares nothing."},
	setting.LookOf("session: at what it was told of its item. owner: it asks DynamoDB: it renews the lease, if its recipe has one, and else reads whose the item is.", lookOwner),
}

const lookOwner = "owner"

// settingFence is what a change of the data compares.
const (
	settingFence = "fence"
	fenceNone    = "none"
	fenceLock    = "lock"
	fenceMark    = "mark"
)

// compares reports whether a client's changes of the data compare its token with anything.
func compares(c scenario.Client) bool { return c.Text(settingFence) != fenceNone }

// check finds what a client's recipe does not have.
func check(w scenario.World, clients map[string]scenario.Client) *scenario.Conflict {
	inService := w.Storage.In == scenario.InService
	for _, name := range slices.Sorted(maps.Keys(clients)) {
		client := clients[name].Values
		by := service.RecipeOf(recipes, client)
		if inNoJVM := java.CheckOther(name, by.name, by.peer, client, java.Collector); inNoJVM != nil {
			return inNoJVM
		}
		switch {
		case by.peer != "" && inService:
			return &scenario.Conflict{Client: name, Setting: service.By, Text: by.name + " is a client in Java, which reaches a storage by HTTP alone: leave \"storage: {in: service}\" out"}
		case compares(clients[name]) && !inService:
			return &scenario.Conflict{Client: name, Setting: settingFence, Text: "the data does not lie in DynamoDB, and no change can compare anything there: leave \"fence\" out, or want \"storage: {in: service}\""}
		case compares(clients[name]) && !by.counts():
			return &scenario.Conflict{Client: name, Setting: settingFence, Text: by.name + " has no token to compare: leave \"fence\" out, or \"by\""}
		}
		if by == &original && (client.Text(setting.Look) == lookOwner || client.Time(setting.Ahead) > 0) {
			return &scenario.Conflict{Client: name, Setting: service.By, Text: by.name + " is a library in a process of its own, which does not ask DynamoDB for a look, and compares no clocks: leave \"look: owner\" and \"ahead\" out"}
		}
	}
	return nil
}
