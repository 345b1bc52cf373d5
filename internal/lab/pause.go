package lab

import (
	"github.com/fencelab/fencelab/internal/history"
)

// pause stops a client's process, all of it, as the host of a virtual machine or
// a debugger would: SIGSTOP, and the kernel's word that it stands still.
func (r *run) pause(client string) error {
	at := r.recorder.now()
	if err := r.world.procs[client].Pause(); err != nil {
		return err
	}
	e := history.Event{At: at, Lane: client, Client: client, Kind: history.KindPause, Cause: history.CauseStop}
	r.state.client(client).frozen = e
	r.recorder.add(e)
	return nil
}

// resume lets it go on.
func (r *run) resume(client string) error {
	c := r.state.client(client)
	at := r.recorder.now()
	if err := r.world.procs[client].Resume(); err != nil {
		return err
	}
	e := history.Event{At: at, Lane: client, Client: client, Kind: history.KindResume, Cause: c.frozen.Cause, Took: at - c.frozen.At}
	c.frozen = e
	r.recorder.add(e)
	return nil
}
