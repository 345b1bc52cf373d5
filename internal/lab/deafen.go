package lab

import "github.com/fencelab/fencelab/internal/history"

// deafen keeps the answers of a service from a client; what it sends arrives.
func (r *run) deafen(client, service string) error {
	for _, l := range r.world.links[client].to(service) {
		l.PauseRx()
	}
	r.network(client, history.CauseDeafen, "what "+service+" answers does not reach "+client+" any more")
	return nil
}
