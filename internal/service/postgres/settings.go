package postgres

import (
	"fmt"

	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

// The settings of its server, and of what is before it.
const (
	settingPooler = "pooler"
	poolerNone    = "none"

	settingPool = "pool"
	defaultPool = "20"
)

var worldSettings = []setting.Setting{
	{Name: sqlservice.SettingIdle, Kind: setting.Time, Default: "0s", Pattern: `^(0|[1-9][0-9]*)(ms|s|m)$`,
		About: "After what time the database ends an idle client's session and transaction (idle_in_transaction_session_timeout, idle_session_timeout). 0s: never."},
	{Name: settingPooler, Default: poolerNone, Of: []string{poolerNone, "transaction", "session"},
		About: "For how long a pgbouncer before the server gives a client a connection (pool_mode). none: there is no pgbouncer. transaction: for a transaction. session: until the client hangs up. With --postgres URL variants with a pgbouncer are left out."},
	{Name: settingPool, Kind: setting.Number, Default: defaultPool, Pattern: `^[1-9][0-9]?$`, Want: "a number from 1 to 99",
		About: "How many connections to the server the pgbouncer has at most, 1 to 99 (default_pool_size)."},
	sqlservice.StandbySetting("synchronous_standby_names"),
}

const (
	settingThrough = "through"
	throughPooler  = "pooler"
	throughServer  = "server"
)

const (
	settingIdleSession = "idle-session"
	idleSessionEnds    = "ends"
	idleSessionStays   = "stays"
)

var clientSettings = []setting.Setting{
	service.ByRecipe(recipes, &token), java.Ahead, sqlservice.Unlock,
	sqlservice.Compare, sqlservice.Writes, sqlservice.LockTimeout, sqlservice.GiveUp, sqlservice.Connection, sqlservice.Look, java.Collector,
	{Name: settingThrough, Default: throughPooler, Of: []string{throughPooler, throughServer},
		About: "Where it connects to. pooler: to the pgbouncer, if there is one. server: to the server."},
	{Name: settingIdleSession, Default: idleSessionEnds, Of: []string{idleSessionEnds, idleSessionStays},
		About: "What becomes of a session that has an advisory lock, and is idle for longer than idle allows. ends: the database ends it. stays: it has set its idle_session_timeout to 0."},
}

const noPooler = "there is no pgbouncer: want \"pooler: transaction\", or leave %q out"

var rules = []sqlservice.Rule{
	{Setting: settingIdleSession, Text: "%s has no lock of a session: leave %q out", Wrong: func(a sqlservice.Asked) bool {
		return a.By != &advisory && a.Text(settingIdleSession) != idleSessionEnds
	}},
	{Setting: settingThrough, Text: noPooler, Wrong: func(a sqlservice.Asked) bool {
		return !isPooled(a.World) && a.Text(settingThrough) != throughPooler
	}},
}

// check finds what is said of a pooler where there is none, or where it stands before one of two servers.
func check(w scenario.World, _ map[string]scenario.Client) *scenario.Conflict {
	switch pooled := isPooled(w.Settings); {
	case pooled && sqlservice.HasStandby(w.Settings):
		return &scenario.Conflict{Setting: settingPooler, Text: "a pgbouncer stands before one server, and here another one can lead: leave \"standby\" out"}
	case !pooled && w.Settings.Text(settingPool) != defaultPool:
		return &scenario.Conflict{Setting: settingPool, Text: fmt.Sprintf(noPooler, settingPool)}
	}
	return nil
}

func isPooled(world setting.Values) bool { return world.Text(settingPooler) != poolerNone }
