package etcd

import (
	"time"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/setting"
)

// slack is how long etcd may take to end a lease that ran out, or to grant a free lock.
// It looks twice a second; the rest is for a machine that is busy.
const slack = 3 * time.Second

// Bounds implements service.Bounded. A client that shares another's session has none:
// that one renews its lease. Members may elect a leader anew, which gives each lease
// its whole time once more.
func (Service) Bounds(world setting.Values, clients map[string]scenario.Client) (bounds map[string]time.Duration, handover time.Duration) {
	bounds = make(map[string]time.Duration)
	for name, c := range clients {
		if _, shares := clients[c.Text(setting.Session)]; shares {
			continue
		}
		bounds[name] = c.Time(setting.TTL) + slack
		if world.Number(nodes.Setting) > 1 {
			bounds[name] += c.Time(setting.TTL)
		}
	}
	return bounds, slack
}
