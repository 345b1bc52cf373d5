package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/network"
	"github.com/fencelab/fencelab/internal/proc"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/setting"
)

// clientProcess is a process of a client.
type clientProcess struct {
	*proc.Process
	gone chan struct{} // closed when all that the process told was taken in
}

// startClients starts the clients, and awaits that they are ready.
func (r *run) startClients(ctx context.Context) error {
	for _, name := range r.scenario.Clients {
		if err := r.connectClient(ctx, name); err != nil {
			return err
		}
		if err := r.startClient(name); err != nil {
			return err
		}
	}
	return r.await(ctx, "the clients", startDeadline, func() (bool, error) {
		for _, name := range r.scenario.Clients {
			if r.state.client(name).notes == 0 {
				return false, nil
			}
		}
		return true, nil
	})
}

// connectClient makes the networks of a client, which its processes share.
func (r *run) connectClient(ctx context.Context, name string) error {
	endpoints, err := r.servers.Endpoints(ctx, r.variant.Clients[name].Values)
	if err != nil {
		return err
	}
	n := &links{endpoints: endpoints}
	r.world.links[name] = n
	if r.meddles(name, func(s scenario.Step) bool { return s.Other == r.service.Name() }) {
		for i, endpoint := range endpoints {
			l, err := r.linkTo(endpoint)
			if err != nil {
				return err
			}
			n.service, endpoints[i] = append(n.service, l), l.Addr()
		}
	}
	if r.inService() {
		return nil
	}
	storage := r.world.storage
	n.sends = storage.url()
	if r.meddles(name, func(s scenario.Step) bool { return s.Send }) {
		if n.storage, err = network.New(storage.addr); err != nil {
			return err
		}
		n.sends = "http://" + n.storage.Addr()
	}
	return nil
}

// linkTo makes a client's network to an address of the lock service.
func (r *run) linkTo(endpoint string) (*network.Link, error) {
	if _, greets := r.service.(service.Greeting); greets {
		return network.NewGreeted(endpoint)
	}
	return network.New(endpoint)
}

// startClient starts a process of a client.
func (r *run) startClient(name string) error {
	w := r.world
	n := w.links[name]
	var env []string
	if r.meddles(name, func(s scenario.Step) bool { return s.Verb == scenario.Load }) {
		env = gcEnv
	}
	args := []string{"client", "agent", "--name", name, "--service", r.service.Name(), "--endpoints", strings.Join(n.endpoints, ","), "--lock", r.ownLock(name),
		"--connect-timeout", startDeadline.String(), "--asked-before", strconv.Itoa(r.state.askedBy(name))}
	if r.inService() {
		args = append(args, "--in-service")
	} else {
		args = append(args, "--storage", w.storage.url(), "--send-storage", n.sends)
	}
	if w.group.Lane != nil {
		args = append(args, "--words")
	}
	told := r.service.Told(name, r.variant.Clients)
	for _, s := range slices.Concat(setting.Client, r.service.ClientSettings()) {
		args = append(args, "--"+s.Name+"="+told.Text(s.Name))
	}
	p, err := w.group.Start(name, env, args...)
	if err != nil {
		return err
	}
	c := &clientProcess{p, make(chan struct{})}
	w.clients[name] = c
	w.readers.Go(func() {
		defer close(c.gone)
		r.readLines(p, p.Stdout, func(b []byte) error {
			e, err := saidBy(name, b)
			if err == nil {
				r.Tell(e)
			}
			return err
		})
	})
	return nil
}

// saidBy is the event in a line of a client, which speaks for itself alone.
func saidBy(client string, line []byte) (history.Event, error) {
	var e history.Event
	if err := json.Unmarshal(line, &e); err != nil {
		return e, err
	}
	if e.Lane != client {
		return e, fmt.Errorf("its lane is %q, want %q: a client tells of itself alone", e.Lane, client)
	}
	if !slices.Contains(clientKinds, e.Kind) {
		return e, fmt.Errorf("its kind is %q: a client tells of %v", e.Kind, clientKinds)
	}
	return e, nil
}

// clientKinds are the kinds of events that a client tells of. All others belong to other
// accounts.
var clientKinds = []history.Kind{
	history.KindInvoke, history.KindOK, history.KindFail, history.KindUnknown, history.KindLost,
	history.KindPause, history.KindResume, history.KindError, history.KindNote,
}

// meddles reports whether some step about a client is such.
func (r *run) meddles(client string, such func(scenario.Step) bool) bool {
	return slices.ContainsFunc(r.variant.Steps, func(s scenario.Step) bool { return s.Client == client && such(s) })
}
