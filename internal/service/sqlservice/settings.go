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

	settingConnection = "connection"
	connectionOwn     = "own"
	connectionOne     = "one"

	settingOnTimeout  = "on-timeout"
	onTimeoutRollback = "rollback"
	onTimeoutCommit   = "commit"

	// SettingIdle is of a server: after what time it ends sessions in which nobody asks for anything.
	SettingIdle = "idle"
)

// The settings that clients of databases have.
var (
	Unlock = setting.Setting{Name: setting.Unlock, Default: unlockCompare, Of: []string{unlockCompare, unlockDelete},
		About: "How it releases a lock of int-lock and int-lock-db-clock. compare: it deletes the row if that has its own value. delete: in any case."}
	Compare = setting.Setting{Name: settingCompare, Kind: setting.Flag, Default: "true",
		About: "With version and status: whether a write compares the row with what the client has read."}
	Writes = setting.Setting{Name: settingWrites, Default: writesInside, Of: []string{writesInside, writesOutside},
		About: "How reads and writes of data in the database are committed under a lock of a transaction. inside: with that transaction, by its unlock. outside: each by itself, by another connection."}
	LockTimeout = setting.Setting{Name: settingLockTimeout, Kind: setting.Time, Default: "0s", Pattern: `^(0|[1-9][0-9]*)(ms|s|m)$`,
		About: "After what time the database refuses its request that waits there for a lock, or for the lock of a row of data. 0s: never."}
	GiveUp = setting.Setting{Name: settingGiveUp, Default: giveUpCancel, Of: []string{giveUpCancel, giveUpLeave},
		About: "What it does, after its own timeout, with a request that waits in the database for a lock. cancel: it has the database cancel the request. leave: request and connection stay, as in a pool."}
	Connection = setting.Setting{Name: settingConnection, Default: connectionOwn, Of: []string{connectionOwn, connectionOne},
		About: "Which connection has a lock that a session of the database has. own: each lock has a connection of its own, as from a pool. one: all locks of the client have the same one."}
	OnTimeout = setting.Setting{Name: settingOnTimeout, Default: onTimeoutRollback, Of: []string{onTimeoutRollback, onTimeoutCommit},
		About: "What it does with a transaction that has waited for a row for longer than lock-timeout (error 1205). rollback: it rolls the transaction back. commit: its COMMIT keeps what came before. If the transaction has the lock, the error always ends it."}
	Look = setting.LookOf("session: at the end of the lease by its own clock; for a lock without a lease at its connection, of whose end it may not know yet.")
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
	{setting.Unlock, func(a Asked) bool { return a.By.Take == nil && a.Text(setting.Unlock) != unlockCompare },
		"%s has an unlock of its own: leave %q out"},
	{settingWrites, func(a Asked) bool { return a.Values[settingWrites] == writesOutside && !a.InService },
		`no write is part of a transaction of the database where the data does not lie there: it needs "storage: {in: service}"`},
	{settingWrites, func(a Asked) bool { return a.Values[settingWrites] == writesOutside && !a.By.Transacts() },
		"%s is no lock of a transaction: each write is a transaction of its own. Leave %q out"},
	{settingLockTimeout, func(a Asked) bool { // where the data lies in the database, writes wait there, too
		return a.By.Hold == nil && !a.InService && a.Text(settingLockTimeout) != LockTimeout.Default
	}, waitsNot},
	{settingGiveUp, func(a Asked) bool { return a.By.Hold == nil && a.Text(settingGiveUp) != giveUpCancel }, waitsNot},
	{settingConnection, func(a Asked) bool { return isOneConnection(a) && !a.By.Session },
		"%s has no lock of a session: leave %q out"},
	{settingConnection, func(a Asked) bool { return isOneConnection(a) && a.Text(settingGiveUp) == giveUpLeave },
		`the session would wait in a request that the client has left, and have its other locks: leave "give-up" or %q out`},
}

func isOneConnection(a Asked) bool { return a.Values[settingConnection] == connectionOne }

func (d *About) check(w scenario.World, clients map[string]scenario.Client) *scenario.Conflict {
	for _, name := range slices.Sorted(maps.Keys(clients)) {
		of := clients[name].Values
		a := Asked{of, d.by(of), w.Settings, w.Storage.In == scenario.InService}
		if _, has := a.Values[java.Collector.Name]; has {
			if inNoJVM := java.CheckOther(name, a.By.ID, a.By.Peer, a.Values, java.Collector); inNoJVM != nil { // int-lock has "ahead", too
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
	if HasStandby(w.Settings) && w.Storage.In == scenario.InService {
		return &scenario.Conflict{Setting: settingStandby, Text: `a standby can lack changes of the data that lies in the database, and nobody tells which: leave "storage: {in: service}" out`}
	}
	if d.Check == nil {
		return nil
	}
	return d.Check(w, clients)
}
