package lab

import (
	"context"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
)

const deafenAbout = "What the client sends arrives, the answers do not."

var deafenServiceFault = action{
	Form: scenario.Form{Actor: scenario.ActorLab, Usage: "deafen CLIENT to SERVICE", Other: scenario.TheService, About: deafenAbout, Check: checkCut},
	do:   (*run).deafen,
}

var deafenStorageFault = action{
	Form: scenario.Form{Actor: scenario.ActorLab, Usage: "deafen CLIENT to storage", Other: scenario.TargetStorage, About: deafenAbout, Check: checkCut},
	do:   (*run).deafen,
}

// deafen keeps the answers of the lock service or the storage from a client; what it
// sends arrives.
func (r *run) deafen(_ context.Context, s scenario.Step) error {
	n, who := r.world.links[s.Client], s.Other
	if s.Other == scenario.TargetStorage {
		r.state.client(s.Client).deaf = true
		who = "the storage"
		if n.storage != nil {
			n.storage.Rx.Shut()
		}
	} else {
		for _, l := range n.service {
			l.Rx.Shut()
		}
	}
	r.network(s.Client, history.CauseDeafen, "what "+who+" answers does not reach "+s.Client+" any more")
	return nil
}
