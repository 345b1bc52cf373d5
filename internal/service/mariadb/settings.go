package mariadb

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fencelab/fencelab/internal/peers"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
	"github.com/fencelab/fencelab/internal/setting"
)

// The settings of its server.
const (
	settingIdle     = "idle"
	settingRollback = "rollback-on-timeout"
)

var worldSettings = []setting.Setting{
	{Name: settingIdle, Kind: setting.Time, Default: "0s", Pattern: `^(0|[1-9][0-9]*)(s|m)$`,
		About: "After what time the database ends the session of a client that asks for nothing, and its transaction (idle_transaction_timeout, wait_timeout). 0s: never."},
	{Name: settingRollback, Kind: setting.Flag, Default: "false",
		About: "Whether a statement that has waited too long for a row ends its whole transaction, and not only itself (innodb_rollback_on_timeout)."},
}

// arguments are what a server is started with.
func arguments(world setting.Values) []string {
	list := []string{"max-connections=200"}
	if idle := int(world.Time(settingIdle).Seconds()); idle > 0 {
		list = append(list, fmt.Sprintf("idle-transaction-timeout=%d", idle), fmt.Sprintf("wait-timeout=%d", idle))
	}
	if world.Flag(settingRollback) {
		list = append(list, "innodb-rollback-on-timeout=ON")
	}
	return list
}

// The settings of its clients.
var clientSettings = []setting.Setting{
	service.ByRecipe(recipes, &token), sqlservice.Ahead, sqlservice.Unlock,
	sqlservice.Compare, sqlservice.LockTimeout, onTimeout, sqlservice.GiveUp, sqlservice.Look, peers.Collector,
}

// checkOnTimeout finds a client that chooses what becomes of its transactions, and that makes
// none.
func checkOnTimeout(w scenario.World, clients map[string]scenario.Client) *scenario.Conflict {
	for _, name := range slices.Sorted(maps.Keys(clients)) {
		if clients[name].Text(settingOnTimeout) != onTimeoutRollback && w.Storage.In != scenario.InService {
			return &scenario.Conflict{Client: name, Setting: settingOnTimeout,
				Text: "the data does not lie in MariaDB, and no transaction changes it: leave \"on-timeout\" out"}
		}
	}
	return nil
}
