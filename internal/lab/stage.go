package lab

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
)

// Group implements service.Story, as those below do.
func (r *run) Group() *proc.Group { return r.world.group }

func (r *run) Plan() service.Plan {
	v := r.variant
	locks := v.Locks()
	for i, lock := range locks {
		locks[i] = r.prefix + lock
	}
	return service.Plan{World: v.World.Settings, Locks: locks, Prefix: r.prefix, Clients: v.Clients, Steps: v.Steps}
}

// laneOf is the lane of a process: its own, or that of the lock service that it serves.
func (r *run) laneOf(process string) string {
	if process == history.LaneStorage || slices.Contains(r.scenario.Clients, process) {
		return process
	}
	return r.service.Name
}

func (r *run) Tell(events ...history.Event) {
	if len(events) == 0 {
		return
	}
	select {
	case r.hub <- events:
	case <-r.over:
	}
}

func (r *run) Fail(p *proc.Process, err error) {
	select {
	case r.broken <- failure{p, err}:
	case <-r.over:
	}
}

func (r *run) Over() <-chan struct{} { return r.over }

func (r *run) Ends(p *proc.Process) { r.world.ends.Store(p, true) }

func (r *run) Go(do func()) { r.world.readers.Go(do) }

// Meanwhile does something long, and takes in what the accounts say: processes that nobody reads stand still. A server
// gets the usual patience also where steps have less.
func (r *run) Meanwhile(ctx context.Context, what string, do func(context.Context) error) error {
	within := max(r.Patience, usualPatience)
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("after %v %w for %s", within, errWaiting, what))
	defer cancel()
	done := make(chan struct{})
	var failed error
	go func() {
		defer close(done)
		failed = do(ctx)
	}()
	err := r.awaitClosed(ctx, what, within, done)
	cancel()
	for waits := err != nil; waits; { // what goes on until it hears of that may tell of something first
		select {
		case events := <-r.hub:
			_ = r.hear(events, what) // the first error counts
		case <-r.broken:
		case <-done:
			waits = false
		}
	}
	if err != nil {
		return err
	}
	return failed
}

func (r *run) AwaitClosed(ctx context.Context, what string, closed <-chan struct{}) error {
	return r.awaitClosed(ctx, what, r.Patience, closed)
}

func (r *run) awaitClosed(ctx context.Context, what string, within time.Duration, closed <-chan struct{}) error {
	return r.awaitAlso(ctx, what, within, closed, func() (bool, error) { return service.IsClosed(closed), nil })
}

func (r *run) Now() time.Duration { return r.recorder.now() }

// event is one that happens now in the lane of a client or of the storage.
func (r *run) event(lane string, kind history.Kind) history.Event {
	e := history.Event{At: r.recorder.now(), Lane: lane, Client: lane, Kind: kind}
	if lane == history.LaneStorage {
		e.Client = ""
	}
	return e
}

func (r *run) note(client, format string, args ...any) {
	e := r.event(client, history.KindNote)
	e.Text = fmt.Sprintf(format, args...)
	r.recorder.add(e)
}

func (r *run) Remark(at time.Duration, text string, nodes ...history.Node) {
	r.recorder.add(history.Event{At: at, Lane: r.service.Name, Kind: history.KindNote, Text: text, Nodes: nodes})
}

// nodes are those of the lock service as the story begins. Of servers that were there already nothing is known. Who
// leads servers that other runs use as well nobody says; nothing is done to these.
func (r *run) nodes(ctx context.Context) ([]history.Node, error) {
	if r.service.NodesOf == nil || len(r.Endpoints) > 0 {
		return nil, nil
	}
	nodes := r.service.NodesOf(r.variant.World.Settings)
	if nodes == nil || r.service.Leader == nil || r.joined != nil {
		return nodes, nil
	}
	leader, err := r.service.Leader(ctx, r.servers)
	for i := range nodes {
		nodes[i].Leads = nodes[i].Name == leader
	}
	return nodes, err
}

func (r *run) Tenure(step scenario.Step) string { return r.claim(step).latest() }

func (r *run) Revoked(yes func(tenure string) bool) {
	for _, t := range r.state.ledger.Tenures {
		if !t.Ended.Came() && yes(t.ID) {
			r.state.owner(t.ID).revoked = true
		}
	}
}

func (r *run) AwaitEnd(ctx context.Context, client, tenure string) error {
	r.wanted(client, tenure)
	return r.await(ctx, "the end of "+client+"'s tenure", r.Patience, func() (bool, error) { return r.state.ledger.Tenure(tenure).Ended.Came(), nil })
}

func starting(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, startDeadline, fmt.Errorf("it is not ready after %v", startDeadline))
}

// startServers starts lock service and storage side by side, unless the storage asks the service.
func (r *run) startServers(ctx context.Context) error {
	ctx, cancel := starting(ctx)
	defer cancel()
	started := make(chan error, 1)
	go func() { started <- r.startService(ctx) }()
	var err error
	if r.variant.World.Storage.Bound == scenario.BoundIssuer {
		err, started = <-started, nil
	}
	if err == nil && !r.inService() {
		err = r.startStorage(ctx)
	}
	if started != nil {
		err = errors.Join(err, <-started)
	}
	return err
}

// startService starts the lock service, or joins one that is there.
func (r *run) startService(ctx context.Context) (err error) {
	endpoints := r.Endpoints
	if len(endpoints) == 0 && r.service.Launch != nil && r.Shared != nil && r.Lane == nil && r.variant.Own == "" {
		launched, err := r.Shared.launch(ctx, r.service, r.variant.World.Settings)
		if err != nil {
			return err
		}
		for _, p := range launched.Processes {
			service.Guard(r, p)
		}
		r.joined = launched.Processes
		endpoints = launched.Endpoints
	}
	if len(endpoints) > 0 {
		r.prefix = "/gcsim-" + rand.Text()
		r.servers = r.service.Join(r, endpoints)
		return nil
	}
	r.servers, err = r.service.Begin(ctx, r)
	return err
}

const leaveTimeout = 5 * time.Second

// leave ends the tenures of the run's locks in servers that go on without it.
func (r *run) leave() {
	if r.prefix == "" || r.servers == nil {
		return
	}
	for _, p := range r.world.clients {
		_ = p.Kill() // one that has ended is as good
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	r.servers.Leave(ctx)
}
