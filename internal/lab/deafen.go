package lab

import (
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
)

// deafen keeps the answers of a service from a client; what it sends arrives.
func (r *run) deafen(client, service string) error {
	for _, l := range r.world.links[client].to(service) {
		l.Rx.Shut()
	}
	if service == scenario.TargetStorage {
		r.state.client(client).deaf = true
	}
	who := map[string]string{scenario.TargetEtcd: "etcd", scenario.TargetStorage: "the storage"}[service]
	r.network(client, history.CauseDeafen, "what "+who+" answers does not reach "+client+" any more")
	return nil
}
