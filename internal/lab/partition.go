package lab

import (
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
)

// partition cuts a client off from etcd: nothing passes, either way. TCP keeps
// what was sent, and delivers it when the network works again.
func (r *run) partition(client string) error {
	for _, l := range r.world.links[client].etcd {
		l.Tx.Shut()
		l.Rx.Shut()
	}
	r.state.client(client).cut = true
	r.network(client, history.CausePartition, "the network between "+client+" and etcd is cut")
	return nil
}

// heal ends that, and what deafen does.
func (r *run) heal(client string) error {
	n, c := r.world.links[client], r.state.client(client)
	for _, service := range []string{scenario.TargetEtcd, scenario.TargetStorage} {
		for _, l := range n.to(service) {
			l.Rx.Open()
			if service == scenario.TargetEtcd || !c.held {
				l.Tx.Open()
			}
		}
	}
	c.cut, c.deaf = false, false
	r.network(client, history.CauseHeal, "the network of "+client+" works again")
	return nil
}

// network records what happens to a client's network.
func (r *run) network(client, cause, text string) {
	r.recorder.add(history.Event{At: r.recorder.now(), Lane: client, Client: client, Kind: history.KindNetwork, Cause: cause, Text: text})
}
