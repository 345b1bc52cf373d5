package lab

import (
	"context"
	"time"

	"github.com/fencelab/fencelab/internal/history"
)

// pause stops a client's process, all of it, as the host of a virtual machine or
// a debugger would: SIGSTOP, and the kernel's word that it stands still. With a
// length it goes on by itself, whatever the story does meanwhile.
func (r *run) pause(ctx context.Context, client string, length time.Duration) error {
	at, stopped := r.recorder.now(), time.Now()
	p := r.world.clients[client]
	if err := p.Pause(); err != nil {
		return err
	}
	e := history.Event{At: at, Lane: client, Client: client, Kind: history.KindPause, Cause: history.CauseStop}
	r.state.client(client).frozen = e
	r.recorder.add(e)
	if length == 0 {
		return nil
	}
	r.world.readers.Go(func() {
		select {
		case <-time.After(length):
		case <-ctx.Done():
			return
		}
		began := time.Now()
		if err := p.Resume(); err != nil {
			r.fail(p, err)
			return
		}
		r.tell(history.Event{
			At: time.Duration(began.UnixNano()), Lane: client, Client: client,
			Kind: history.KindResume, Cause: history.CauseStop, Took: time.Since(stopped),
		})
	})
	return nil
}

// resume lets it go on.
func (r *run) resume(client string) error {
	c := r.state.client(client)
	at := r.recorder.now()
	if err := r.world.clients[client].Resume(); err != nil {
		return err
	}
	e := history.Event{At: at, Lane: client, Client: client, Kind: history.KindResume, Cause: c.frozen.Cause, Took: at - c.frozen.At}
	c.frozen = e
	r.recorder.add(e)
	return nil
}

// awaitGoing waits until a client that stands still goes on, and has done what it
// was told meanwhile.
func (r *run) awaitGoing(ctx context.Context, client string) error {
	c := r.state.client(client)
	return r.awaitSent(ctx, client, client+" to go on", loadDeadline, func() bool {
		done := len(c.sending) == 0 && r.waiting(client) || r.state.arrived(client) && r.state.answered(client)
		return c.frozen.Kind == history.KindResume && done
	})
}
