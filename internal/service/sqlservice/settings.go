package sqlservice

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/peers"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/setting"
)

const (
	settingUnlock = "unlock"
	unlockCompare = "compare"
	unlockDelete  = "delete"

	settingCompare = "compare"

	settingWrites = "writes"
	writesInside  = "inside"
	writesOutside = "outside"

	settingLockTimeout = "lock-timeout"

	settingGiveUp = "give-up"
	giveUpCancel  = "cancel"
	giveUpLeave   = "leave"
)

// The settings that clients of each database have.
var (
	Ahead = setting.Setting{Name: peers.Ahead.Name, Kind: peers.Ahead.Kind, Default: peers.Ahead.Default, Pattern: peers.Ahead.Pattern,
		About: "How far its clock is ahead of the others, for int-lock, which compares by it, and for a client in Java, whose JVM has this clock."}
	Unlock = setting.Setting{Name: settingUnlock, Default: unlockCompare, Of: []string{unlockCompare, unlockDelete},
		About: "How it releases a lock of int-lock and int-lock-db-clock. compare: it deletes the row if the row has the client's own value. delete: it deletes the row."}
	Compare = setting.Setting{Name: settingCompare, Kind: setting.Flag, Default: "true",
		About: "Whether a write under version or status compares the row with what the client has read of it."}
	Writes = setting.Setting{Name: settingWrites, Default: writesInside, Of: []string{writesInside, writesOutside},
		About: "Where the data lies in the database, and a transaction has its lock: how its reads and writes are committed. inside: they are part of that transaction, and its unlock commits them. outside: each is a transaction of its own, by another connection."}
	LockTimeout = setting.Setting{Name: settingLockTimeout, Kind: setting.Time, Default: "0s", Pattern: `^(0|[1-9][0-9]*)(ms|s|m)$`,
		About: "For how long its request waits in the database for a lock, before the database refuses it; where the data lies there, for the lock of a row, too. 0s: for ever."}
	GiveUp = setting.Setting{Name: settingGiveUp, Default: giveUpCancel, Of: []string{giveUpCancel, giveUpLeave},
		About: "What it does with a request that waits in the database for a lock, when its own time for it is over. cancel: it has the database cancel the request. leave: it goes on without the answer; the request stays in the database, and the connection stays open, as in a pool."}
	Look = setting.Setting{Name: setting.Look, Default: setting.LookBegin, Of: []string{setting.LookBegin, setting.LookNothing, setting.LookSession},
		About: "How it looks whether it holds the lock before it writes. begin: as session where it begins a write, else not at all. nothing: never. session: at its own clock, by which the lease has or has not run out; or, where the lock has none, at its connection, of whose end it may not know yet."}
)

// CheckUnlock finds a client that chooses its unlock, and whose recipe is not one of those
// that leave the choice.
func CheckUnlock[C any](recipes []*Recipe[C], clients map[string]scenario.Client, leave ...*Recipe[C]) *scenario.Conflict {
	for _, name := range slices.Sorted(maps.Keys(clients)) {
		by := service.RecipeOf(recipes, clients[name].Values)
		if clients[name].Text(settingUnlock) != unlockCompare && !slices.Contains(leave, by) {
			return &scenario.Conflict{Client: name, Setting: settingUnlock, Text: by.ID + " has an unlock of its own: leave \"unlock\" out"}
		}
	}
	return nil
}

// CheckWait finds a client that chooses what becomes of its request for a lock while that waits
// in the database, and whose recipe has no such request. Where the data lies in the database
// its writes wait there, too.
func CheckWait[C any](recipes []*Recipe[C], w scenario.World, clients map[string]scenario.Client) *scenario.Conflict {
	for _, name := range slices.Sorted(maps.Keys(clients)) {
		by := service.RecipeOf(recipes, clients[name].Values)
		for _, s := range []setting.Setting{LockTimeout, GiveUp} {
			waits := by.Hold != nil || s.Name == settingLockTimeout && w.Storage.In == scenario.InService
			if !waits && clients[name].Text(s.Name) != s.Default {
				return &scenario.Conflict{Client: name, Setting: s.Name,
					Text: fmt.Sprintf("%s has no request that waits in the database: it asks again and again. Leave %q out", by.ID, s.Name)}
			}
		}
	}
	return nil
}

// Compares reports whether a client's UPDATEs compare the row with what it has read.
func Compares[C any](recipes []*Recipe[C], client scenario.Client) bool {
	return service.RecipeOf(recipes, client.Values).Read != nil && client.Flag(settingCompare)
}

// CheckCompare finds a client that compares where there is nothing to compare.
func CheckCompare[C any](recipes []*Recipe[C], w scenario.World, clients map[string]scenario.Client) *scenario.Conflict {
	for _, name := range slices.Sorted(maps.Keys(clients)) {
		switch by := service.RecipeOf(recipes, clients[name].Values); {
		case by.Read != nil && w.Storage.In != scenario.InService:
			return &scenario.Conflict{Client: name, Setting: service.By, Text: by.ID + " compares the row that has the data: it needs \"storage: {in: service}\""}
		case by.Read == nil && !clients[name].Flag(settingCompare):
			return &scenario.Conflict{Client: name, Setting: settingCompare, Text: by.ID + " compares nothing: leave \"compare\" out"}
		}
	}
	return nil
}

// CheckWrites finds a client that chooses how its writes are committed where there is no choice.
func CheckWrites[C any](recipes []*Recipe[C], w scenario.World, clients map[string]scenario.Client) *scenario.Conflict {
	for _, name := range slices.Sorted(maps.Keys(clients)) {
		by, text := service.RecipeOf(recipes, clients[name].Values), ""
		switch {
		case clients[name].Text(settingWrites) == writesInside:
			continue
		case w.Storage.In != scenario.InService:
			text = "no write is part of a transaction of the database where the data does not lie there: it needs \"storage: {in: service}\""
		case !by.Transacts():
			text = by.ID + " is no lock of a transaction: each write is a transaction of its own. Leave \"writes\" out"
		default:
			continue
		}
		return &scenario.Conflict{Client: name, Setting: settingWrites, Text: text}
	}
	return nil
}

// slack is how long a machine that is busy may take to do what is due.
const slack = 3 * time.Second

// Bounds are those of service.Service, where a database ends the sessions of clients that
// ask for nothing for a time. A client whose clock is ahead gets a lease that lasts longer, if
// its recipe goes by that clock. A lock that a connection has is to last no longer than others. Nobody waits for a tenure that
// keeps nobody out.
func Bounds[C any](recipes []*Recipe[C], idle time.Duration, clients map[string]scenario.Client) (bounds map[string]time.Duration, handover time.Duration) {
	bounds = make(map[string]time.Duration)
	for name, c := range clients {
		by := service.RecipeOf(recipes, c.Values)
		if by.Read != nil {
			continue
		}
		bounds[name] = max(c.Time(setting.TTL), idle) + slack
		if by.ByItsClock {
			bounds[name] += c.Time(Ahead.Name)
		}
	}
	return bounds, slack
}
