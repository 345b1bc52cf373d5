// Package lab runs a scenario: it starts a world of real processes, makes the clients act and the faults happen,
// step by step, and writes down what came of it. Each step waits for the event that it names.
package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
)

type Options struct {
	Exe string // a program that has the commands of Roles: the lab's processes
	// Emit, if not nil, is told of events live: of each step's when it is over.
	Emit func([]history.Event)
	// Next, if not nil, brings the steps: it is called when the step before is over, and
	// returns a channel on which the next one comes. Meanwhile the world goes on. The
	// story is over when the channel is closed. The variant's own steps are then what
	// the world is made ready for: the locks that they name, and their faults of the
	// lock service; no other ones can come.
	Next func() <-chan scenario.Step
	// Look, if not nil, is shown the history so far, in order, whenever a step is over, and now and then
	// meanwhile. The history is the callee's to keep.
	Look      func([]history.Event)
	Services  []*service.Service // the lock services that there are
	Endpoints []string           // those of servers that are there already; none: the run has its own
	Shared    *Shared            // servers that several runs use; nil: each run has its own
	// UsersStorage is the storage, if it is not ours. One that the variant names by a command is not, either.
	UsersStorage *UsersStorage
	// Lane, if not nil, is where people read what a lane's processes say. The run has its own servers then.
	Lane func(name string) io.Writer
	// Waits, if not nil, is told of a server that takes long to start, and what it lacks.
	Waits func(text string)
	Seed  uint64 // for what is chosen at random
	// Patience is how long a step may wait, beyond leases and delays that it asks for. 0: usualPatience.
	Patience time.Duration
}

const usualPatience = 15 * time.Second

// How long what is awaited may take, beyond leases. A deadline that passes is an error, never a verdict.
const (
	startDeadline = 4 * time.Minute
	loadDeadline  = 2 * time.Minute
)

type run struct {
	Options
	scenario *scenario.Scenario
	variant  *scenario.Variant
	service  *service.Service
	servers  service.Servers
	actions  map[string]*action // by the IDs of steps
	prefix   string             // of the locks' names, where others use the servers as well
	done     []scenario.Step    // so far
	looked   time.Time
	world    *world
	joined   []*proc.Process // servers that other runs use as well
	hunger   hunger
	recorder *recorder
	state    *state
	hub      chan []history.Event // what the world's accounts say
	broken   chan failure         // which of them ended
	over     chan struct{}        // closed at the end: nobody listens any more
}

type failure struct {
	process *proc.Process // nil: the lock service's
	err     error
}

// Run runs a variant of a scenario in a world of its own and returns its history, with an error until there.
// A run that fails has no verdict. Nothing of the world is left behind.
func Run(ctx context.Context, s *scenario.Scenario, v *scenario.Variant, o Options) (events []history.Event, err error) {
	of := service.Named(o.Services, v.World.Service)
	if of == nil {
		return nil, fmt.Errorf("there is no lock service %q here", v.World.Service)
	}
	o.Patience = cmp.Or(o.Patience, usualPatience)
	r := &run{
		Options: o, service: of, actions: actionsWith(of), scenario: s, variant: v,
		hub: make(chan []history.Event), broken: make(chan failure), over: make(chan struct{}),
	}
	outer := ctx
	defer func() {
		if cause := context.Cause(outer); cause != nil && err != nil {
			err = cause // what it brought about is of no interest
		}
		if r.recorder == nil || len(r.recorder.old) == 0 {
			return // the story did not begin
		}
		last := history.Event{Lane: history.LaneLab, Kind: history.KindEnd}
		if err != nil {
			last.Kind, last.Text = history.KindError, err.Error()
		}
		r.recorder.end(last)
		events = r.recorder.events()
		if !slices.ContainsFunc(events, history.Event.OfLock) {
			events = unlocked(events)
		}
	}()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := r.findCommands(); err != nil {
		return nil, err
	}
	if r.world, err = newWorld(o.Exe); err != nil {
		return nil, fmt.Errorf("start the world: %w", err)
	}
	r.world.group.Waits = o.Waits
	if o.Lane != nil {
		r.world.group.Lane = func(process string) io.Writer { return o.Lane(r.laneOf(process)) }
	}
	defer func() {
		close(r.over)
		r.leave()
		cancel()
		err = errors.Join(err, r.world.close())
	}()
	if err := r.start(ctx); err != nil {
		return nil, fmt.Errorf("start the world: %w", err)
	}
	next := o.Next
	if next == nil {
		next = listed(v.Steps)
	}
	if err := r.play(ctx, next); err != nil {
		return nil, err
	}
	if err := r.settle(ctx); err != nil {
		return nil, err
	}
	if err := r.settleUsers(ctx); err != nil {
		return nil, err
	}
	r.state.over = true
	r.state.ascribe()
	for _, e := range r.hungry(time.Now()) {
		r.state.take(e)
	}
	return nil, r.finals(ctx)
}

func (r *run) start(ctx context.Context) error {
	if err := r.startServers(ctx); err != nil {
		return err
	}
	r.recorder = newRecorder(r.Emit, r.service.SlotOf)
	r.state = newState(r.recorder)
	r.state.strays = r.service.Stray
	if err := r.servers.Observe(ctx); err != nil {
		return err
	}
	if err := r.startClients(ctx); err != nil {
		return err
	}
	lanes := append([]string{r.service.Name}, r.scenario.Clients...)
	tokens, skew := make(map[string]string), time.Duration(0)
	for name, c := range r.variant.Clients {
		tokens[name] = r.service.Shows(c.Values)
		if _, has := c.Values[setting.Ahead]; has {
			skew = max(skew, c.Time(setting.Ahead))
		}
	}
	begin := history.Run{
		Version: history.Version, Service: r.service.Name, Tokens: tokens, Sessions: r.sessions(),
		Scenario: r.scenario.Name, Title: r.scenario.Title, Lesson: r.scenario.Lesson, Helps: r.scenario.Helps, Source: r.scenario.Source,
		Variant: r.variant.Name, About: r.about(), Leases: r.leases(), Control: r.variant.Control,
		Fencing:   r.checks(),
		InService: r.inService(),
		Lanes:     append(lanes, history.LaneStorage), Together: r.scenario.Together, Expect: r.variant.Expect, Skew: skew,
	}
	if r.variant.World.Pauses > 0 {
		begin.Seed = r.Seed
	}
	begin.Bounds, begin.Handover = r.bounds()
	var err error
	if begin.Nodes, err = r.nodes(ctx); err != nil {
		return err
	}
	r.recorder.begin(begin)
	r.Go(r.watchMachine)
	r.Go(r.watchHunger)
	return nil
}

// unlocked marks a history in which no client asked for a lock. What was shown of it before stays as it is.
func unlocked(events []history.Event) []history.Event {
	run := *events[0].Run
	run.Unlocked = true
	events = slices.Clone(events)
	events[0].Run = &run
	return events
}

// sessions are the clients that use another client's session, each with that client.
func (r *run) sessions() map[string]string {
	sessions := make(map[string]string)
	for name := range r.variant.Clients {
		if owner := r.variant.SessionOf(name); owner != "" {
			sessions[name] = owner
		}
	}
	return sessions
}

// about is what sets the variant apart, and whose the storage is, if that is not ours.
func (r *run) about() string {
	f := r.usersStorage()
	switch {
	case f == nil || r.inService():
		return r.variant.Says()
	case r.variant.About == "":
		return f.String()
	}
	return r.variant.About + "; " + f.String()
}

var errWaiting = errors.New("still waiting")

// await takes in what the accounts say until done, or until within has passed; what names what is awaited.
func (r *run) await(ctx context.Context, what string, within time.Duration, done func() (bool, error)) error {
	return r.awaitAlso(ctx, what, within, nil, done)
}

// awaitAlso is await that asks done again also when wake has something, or is closed.
func (r *run) awaitAlso(ctx context.Context, what string, within time.Duration, wake <-chan struct{}, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("after %v %w for %s", within, errWaiting, what))
	defer cancel()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case events := <-r.hub:
			if err := r.hear(events, what); err != nil {
				return err
			}
			r.show(lookPause)
		case f := <-r.broken:
			if _, wanted := r.world.ends.Load(f.process); !wanted {
				return fmt.Errorf("waiting for %s: %w", what, f.err)
			}
		case _, more := <-wake:
			if !more {
				wake = nil
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// hear takes in events of an account. An account that cannot go on is an error.
func (r *run) hear(events []history.Event, what string) error {
	for _, e := range events {
		r.state.take(e)
		if e.Kind == history.KindError {
			return fmt.Errorf("waiting for %s: %s says: %s", what, e.Lane, e.Text)
		}
	}
	return nil
}

// settle awaits what clients are yet to be told of that they sent.
func (r *run) settle(ctx context.Context) error {
	for _, client := range r.scenario.Clients {
		err := r.await(ctx, client+" to be answered", r.within(client), func() (bool, error) { return r.state.settled(client), nil })
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *run) finals(ctx context.Context) error {
	read := r.readService
	if !r.inService() {
		client := kvhttp.NewClient(r.world.storage.url(), kvhttp.ClientOptions{})
		defer client.Close()
		read = func(ctx context.Context, key string) (kv.Item, error) {
			return client.Read(ctx, kv.Request{ID: requestFinal}, key)
		}
	}
	var found []history.Event
	err := r.Meanwhile(ctx, "the storage to be read at the end", func(ctx context.Context) error {
		told := *r.variant
		told.Steps = r.done
		for _, key := range told.Keys() {
			item, err := read(ctx, key)
			missing := errors.Is(err, kv.ErrNotFound)
			if err != nil && !missing {
				return fmt.Errorf("read %s at the end: %w", key, err)
			}
			found = append(found, history.Event{
				At: r.recorder.now(), Lane: history.LaneStorage, Kind: history.KindFinal,
				Key: key, Value: item.Value, Missing: missing, Token: item.Token,
			})
		}
		return nil
	})
	for _, e := range found {
		r.recorder.add(e)
	}
	return err
}

// readService reads what the lock service holds, where it is the storage, too.
func (r *run) readService(ctx context.Context, key string) (kv.Item, error) {
	value, has, err := r.servers.(service.Keeper).Final(ctx, key)
	if err == nil && !has {
		err = kv.ErrNotFound
	}
	return kv.Item{Value: value}, err
}

// requestFinal marks the lab's own reads, which are no part of the story.
const requestFinal = "gcsim-final"
