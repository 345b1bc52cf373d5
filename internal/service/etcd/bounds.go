package etcd

import (
	"time"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/setting"
)

// slack is how long etcd may take to end a lease that ran out, or to grant a free lock.
// It looks twice a second; the rest is for a machine that is busy.
const slack = 3 * time.Second

// bounds are those of service.Service. A client that shares another's session has none:
// that one renews its lease. Members may elect a leader anew, which gives each lease
// its whole time once more.
func bounds(world setting.Values, clients map[string]scenario.Client) (list map[string]time.Duration, handover time.Duration) {
	list = make(map[string]time.Duration)
	for name, c := range clients {
		if _, shares := clients[c.Text(setting.Session)]; shares {
			continue
		}
		list[name] = c.Time(setting.TTL) + slack
		if world.Number(settingMembers) > 1 {
			list[name] += c.Time(setting.TTL)
		}
	}
	return list, slack
}
