package mariadb

import (
	"fmt"

	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

// settingRollback is of its server.
const settingRollback = "rollback-on-timeout"

var worldSettings = []setting.Setting{
	{Name: sqlservice.SettingIdle, Kind: setting.Time, Default: "0s", Pattern: `^(0|[1-9][0-9]*)(s|m)$`,
		About: "After what time the database ends an idle client's session and transaction (idle_transaction_timeout, wait_timeout), in whole seconds. 0s: never. On a MariaDB that is there already the variant is left out."},
	{Name: settingRollback, Kind: setting.Flag, Default: "false",
		About: "Whether a statement that has waited too long for a row ends its whole transaction (innodb_rollback_on_timeout). On a MariaDB that is there already the variant is left out."},
	sqlservice.StandbySetting("rpl_semi_sync_master_enabled, AFTER_SYNC"),
}

// arguments are what a server is started with.
func arguments(world setting.Values) []string {
	list := []string{"max-connections=200"}
	if idle := int(world.Time(sqlservice.SettingIdle).Seconds()); idle > 0 {
		list = append(list, fmt.Sprintf("idle-transaction-timeout=%d", idle), fmt.Sprintf("wait-timeout=%d", idle))
	}
	if world.Flag(settingRollback) {
		list = append(list, "innodb-rollback-on-timeout=ON")
	}
	return list
}

var clientSettings = []setting.Setting{
	service.ByRecipe(recipes, &token), java.Ahead, sqlservice.Unlock,
	sqlservice.Compare, sqlservice.Writes, sqlservice.LockTimeout, sqlservice.OnTimeout, sqlservice.GiveUp, sqlservice.Connection, sqlservice.Look, java.Collector,
}

var rules = []sqlservice.Rule{
	{Setting: sqlservice.OnTimeout.Name, Text: "the data does not lie in MariaDB, and no transaction changes it: leave %q out",
		Wrong: func(a sqlservice.Asked) bool { return choosesOnTimeout(a) && !a.InService }},
	{Setting: sqlservice.OnTimeout.Name, Text: `a change is part of the transaction that has the lock, which ends with an error: leave %q out, or want "writes: outside"`,
		Wrong: func(a sqlservice.Asked) bool { return choosesOnTimeout(a) && a.By.Inside(a.Values) }},
}

func choosesOnTimeout(a sqlservice.Asked) bool {
	return a.Text(sqlservice.OnTimeout.Name) != sqlservice.OnTimeout.Default
}
