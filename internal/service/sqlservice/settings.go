package sqlservice

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
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

	settingOnTimeout  = "on-timeout"
	onTimeoutRollback = "rollback"
	onTimeoutCommit   = "commit"

	// SettingIdle is of a server: after what time it ends sessions in which nobody asks for anything.
	SettingIdle = "idle"
)

// The settings that clients of databases have.
var (
	Ahead = setting.Setting{Name: java.Ahead.Name, Kind: java.Ahead.Kind, Default: java.Ahead.Default, Pattern: java.Ahead.Pattern,
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
	OnTimeout = setting.Setting{Name: settingOnTimeout, Default: onTimeoutRollback, Of: []string{onTimeoutRollback, onTimeoutCommit},
		About: "What it does with the transaction of a change that has waited for a row for longer than lock-timeout (error 1205). rollback: it rolls the transaction back. commit: it takes the error for the end of the transaction, and its COMMIT keeps what came before. Where a change is part of the transaction that has the lock, there is nothing to choose: the error ends that transaction."}
	Look = setting.Setting{Name: setting.Look, Default: setting.LookBegin, Of: []string{setting.LookBegin, setting.LookNothing, setting.LookSession},
		About: "How it looks whether it holds the lock before it writes. begin: as session where it begins a write, else not at all. nothing: never. session: at its own clock, by which the lease has or has not run out; or, where the lock has none, at its connection, of whose end it may not know yet."}
)

// Asked is what a client is asked for: its settings, and its recipe in a world.
type Asked struct {
	setting.Values
	By        *Recipe
	World     setting.Values
	InService bool // the data lies in the database
}

// Rule says when a setting of a client is wrong, and why: in its Text %s is the client's recipe, and
// %q the setting.
type Rule struct {
	Setting string
	Wrong   func(Asked) bool
	Text    string
}

const waitsNot = "%s has no request that waits in the database: it asks again and again. Leave %q out"

// rules are of all databases; not all have all the settings.
var rules = []Rule{
	{service.By, func(a Asked) bool { return a.By.Same != nil && !a.InService },
		`%s compares the row that has the data: it needs "storage: {in: service}"`},
	{service.By, func(a Asked) bool { return a.By.Peer != "" && a.InService },
		`%s is a client in Java, which reaches a storage by HTTP alone: leave "storage: {in: service}" out`},
	{settingCompare, func(a Asked) bool { return a.By.Same == nil && a.Values[settingCompare] == "false" },
		"%s compares nothing: leave %q out"},
	{settingUnlock, func(a Asked) bool { return a.By.Take == nil && a.Text(settingUnlock) != unlockCompare },
		"%s has an unlock of its own: leave %q out"},
	{settingWrites, func(a Asked) bool { return a.Values[settingWrites] == writesOutside && !a.InService },
		`no write is part of a transaction of the database where the data does not lie there: it needs "storage: {in: service}"`},
	{settingWrites, func(a Asked) bool { return a.Values[settingWrites] == writesOutside && !a.By.Transacts() },
		"%s is no lock of a transaction: each write is a transaction of its own. Leave %q out"},
	{settingLockTimeout, func(a Asked) bool { // where the data lies in the database, writes wait there, too
		return a.By.Hold == nil && !a.InService && a.Text(settingLockTimeout) != LockTimeout.Default
	}, waitsNot},
	{settingGiveUp, func(a Asked) bool { return a.By.Hold == nil && a.Text(settingGiveUp) != giveUpCancel }, waitsNot},
}

func (d *About) check(w scenario.World, clients map[string]scenario.Client) *scenario.Conflict {
	for _, name := range slices.Sorted(maps.Keys(clients)) {
		of := clients[name].Values
		a := Asked{of, d.by(of), w.Settings, w.Storage.In == scenario.InService}
		if _, has := a.Values[java.Collector.Name]; has && a.By.Peer == "" {
			if inNoJVM := java.CheckOther(name, a.By.ID, a.Values, java.Collector); inNoJVM != nil { // int-lock has "ahead", too
				return inNoJVM
			}
		}
		for _, rule := range slices.Concat(rules, d.Rules) {
			if rule.Wrong(a) {
				text := strings.NewReplacer("%s", a.By.ID, "%q", strconv.Quote(rule.Setting)).Replace(rule.Text)
				return &scenario.Conflict{Client: name, Setting: rule.Setting, Text: text}
			}
		}
	}
	if d.Check == nil {
		return nil
	}
	return d.Check(w, clients)
}
