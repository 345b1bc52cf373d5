package lab

import (
	"context"

	"github.com/fencelab/fencelab/internal/history"
)

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

// killStorage ends its process by SIGKILL, and waits until all that it told is
// taken in.
func (r *run) killStorage(ctx context.Context) error {
	s := r.world.storage
	at := r.recorder.now()
	r.world.mean(s.process)
	if err := s.process.Kill(); err != nil {
		return err
	}
	if err := r.awaitClosed(ctx, "the end of the storage's journal", s.gone); err != nil {
		return err
	}
	r.state.storageDied()
	r.recorder.add(history.Event{At: at, Lane: history.LaneStorage, Kind: history.KindKill})
	return nil
}
