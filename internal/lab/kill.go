package lab

import "github.com/fencelab/fencelab/internal/history"

// kill ends a client's process by SIGKILL: it says goodbye to nobody.
func (r *run) kill(client string) error {
	c := r.state.client(client)
	c.killed = true
	at := r.recorder.now()
	if err := r.world.procs[client].Kill(); err != nil {
		return err
	}
	c.frozen = history.Event{At: at, Lane: client, Client: client, Kind: history.KindKill}
	r.recorder.add(c.frozen)
	return nil
}
