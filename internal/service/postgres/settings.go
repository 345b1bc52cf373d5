package postgres

import (
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/setting"
)

// The settings of its server.
const settingIdle = "idle"

var worldSettings = []setting.Setting{
	{Name: settingIdle, Kind: setting.Time, Default: "0s", Pattern: `^(0|[1-9][0-9]*)(ms|s|m)$`,
		About: "After what time the database ends the session of a client that asks for nothing, and its transaction (idle_in_transaction_session_timeout, idle_session_timeout). 0s: never."},
}

// The settings of its clients.
const (
	settingAhead = "ahead"

	settingUnlock = "unlock"
	unlockCompare = "compare"
	unlockDelete  = "delete"
)

var clientSettings = []setting.Setting{
	service.ByRecipe(recipes, &token),
	{Name: settingAhead, Kind: setting.Time, Default: "0s", Pattern: `^(0|[1-9][0-9]*)(ms|s|m)$`,
		About: "How far its clock is ahead of the others, for int-lock, which compares by it."},
	{Name: settingUnlock, Default: unlockCompare, Of: []string{unlockCompare, unlockDelete},
		About: "How it releases a lock of int-lock and int-lock-db-clock. compare: it deletes the row if that has the client's own value. delete: it deletes the row."},
	{Name: setting.Look, Default: setting.LookBegin, Of: []string{setting.LookBegin, setting.LookNothing, setting.LookSession},
		About: "How it looks whether it holds the lock before it writes. begin: as session where it begins a write, else not at all. nothing: never. session: at its own clock, by which the lease has or has not run out; or, where the lock has none, at its connection, of whose end it may not know yet."},
}
