package postgres

import (
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
	"github.com/fencelab/fencelab/internal/setting"
)

// The settings of its server.
const settingIdle = "idle"

var worldSettings = []setting.Setting{
	{Name: settingIdle, Kind: setting.Time, Default: "0s", Pattern: `^(0|[1-9][0-9]*)(ms|s|m)$`,
		About: "After what time the database ends the session of a client that asks for nothing, and its transaction (idle_in_transaction_session_timeout, idle_session_timeout). 0s: never."},
}

// The settings of its clients.
const settingCompare = "compare"

var clientSettings = []setting.Setting{
	service.ByRecipe(recipes, &token), sqlservice.Ahead, sqlservice.Unlock,
	{Name: settingCompare, Kind: setting.Flag, Default: "true",
		About: "Whether a write under version or status compares the row with what the client has read of it."},
	sqlservice.LockTimeout, sqlservice.GiveUp, sqlservice.Look,
}
