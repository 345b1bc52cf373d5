package lab

import "github.com/fencelab/fencelab/internal/history"

// kill ends a client's process by SIGKILL: it says goodbye to nobody.
func (r *run) kill(client string) error {
	c, p := r.state.client(client), r.world.clients[client]
	r.world.mean(p)
	at := r.recorder.now()
	if err := p.Kill(); err != nil {
		return err
	}
	c.frozen = history.Event{At: at, Lane: client, Client: client, Kind: history.KindKill}
	r.recorder.add(c.frozen)
	return nil
}
