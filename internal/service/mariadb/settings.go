package mariadb

import (
	"fmt"

	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
	"github.com/fencelab/fencelab/internal/setting"
)

// The settings of its server.
const settingIdle = "idle"

var worldSettings = []setting.Setting{
	{Name: settingIdle, Kind: setting.Time, Default: "0s", Pattern: `^(0|[1-9][0-9]*)(s|m)$`,
		About: "After what time the database ends the session of a client that asks for nothing, and its transaction (idle_transaction_timeout, wait_timeout). 0s: never."},
}

// arguments are what a server is started with.
func arguments(world setting.Values) []string {
	list := []string{"max-connections=200"}
	if idle := int(world.Time(settingIdle).Seconds()); idle > 0 {
		list = append(list, fmt.Sprintf("idle-transaction-timeout=%d", idle), fmt.Sprintf("wait-timeout=%d", idle))
	}
	return list
}

// The settings of its clients.
var clientSettings = []setting.Setting{service.ByRecipe(recipes, &token), sqlservice.Ahead, sqlservice.Unlock, sqlservice.LockTimeout, sqlservice.GiveUp, sqlservice.Look}
