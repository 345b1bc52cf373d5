package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/clients/agent"
	"github.com/fencelab/fencelab/internal/clients/original"
	"github.com/fencelab/fencelab/internal/platform/network"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
)

type clientProcess struct {
	*proc.Process
	gone chan struct{} // closed when all that the process told was taken in
}

func (r *run) startClients(ctx context.Context) error {
	for _, name := range r.scenario.Clients {
		if err := r.connectClient(ctx, name); err != nil {
			return err
		}
		if err := r.startClient(name); err != nil {
			return err
		}
	}
	for _, name := range r.scenario.Clients {
		if err := r.awaitReady(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// leases are the lock service and how long its clients' leases are, as in "etcd; leases: client1 1s, client2 2s".
func (r *run) leases() string {
	if !r.service.Leases {
		return ""
	}
	var each []string
	for _, name := range r.scenario.Clients {
		each = append(each, name+" "+r.variant.Clients[name].Text(setting.TTL))
	}
	return r.service.Name + "; leases: " + strings.Join(each, ", ")
}

func (r *run) awaitReady(ctx context.Context, name string) error {
	c := r.state.client(name)
	return r.await(ctx, r.world.clients[name].Name+" to be ready", startDeadline, func() (bool, error) { return c.notes > 0, nil })
}

// connectClient makes the networks of a client, which its processes share.
func (r *run) connectClient(ctx context.Context, name string) error {
	endpoints, err := r.servers.Endpoints(ctx, r.variant.Clients[name].Values)
	if err != nil {
		return err
	}
	n := &links{endpoints: endpoints}
	r.world.links[name] = n
	if !r.service.Local && r.meddles(name, func(s scenario.Step) bool { return s.Other == r.service.Name }) {
		link := network.New
		if r.service.Greets {
			link = network.NewGreeted
		}
		for i, endpoint := range endpoints {
			l, err := link(endpoint)
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
		link := network.NewSilent
		if storage.theirs != nil {
			link = network.NewAfterHead
		}
		if n.storage, err = link(storage.addr); err != nil {
			return err
		}
		n.sends = "http://" + n.storage.Addr()
	}
	return nil
}

func (r *run) startClient(name string) error {
	w := r.world
	n := w.links[name]
	env := slices.Clone(r.service.Env)
	for _, a := range r.actions {
		if a.env != nil && r.meddles(name, func(s scenario.Step) bool { return s.ID == a.ID() }) {
			env = append(env, a.env...)
		}
	}
	args := agent.Args{
		Name: name, Service: r.service.Name, Endpoints: n.endpoints, Lock: r.ownLock(name),
		ConnectTimeout: startDeadline, AskedBefore: r.state.askedBy(name), Words: w.group.Lane != nil,
		Known: slices.Concat(setting.Client, r.service.Client), Settings: r.service.Tells(name, r.variant.Clients),
	}
	if !r.inService() {
		args.Storage, args.SendStorage = w.storage.url(), n.sends
	}
	said := &agent.Reader{Client: name, Began: time.Now()}
	p, err := r.launchClient(name, env, args.List())
	if err != nil {
		return err
	}
	c := &clientProcess{p, make(chan struct{})}
	w.clients[name] = c
	w.readers.Go(func() {
		defer close(c.gone)
		r.readLines(p, p.Stdout, func(b []byte) error {
			e, err := said.Event(b)
			if err == nil {
				r.Tell(e)
			}
			return err
		})
	})
	return nil
}

// Lacks is what the clients of a variant lack, and the command that brings it; "" is nothing.
func Lacks(s *service.Service, v *scenario.Variant) string {
	peers := service.PeersOf(s, v)
	for _, name := range slices.Sorted(maps.Keys(peers)) {
		if lacks := original.Lacks(peers[name], v.Clients[name].Values); lacks != "" {
			return lacks
		}
	}
	return ""
}

// launchClient starts the program of a client: the user's, or the agent, which starts a program of its own for some recipes.
func (r *run) launchClient(name string, env, args []string) (*proc.Process, error) {
	c, group := r.variant.Clients[name], r.world.group
	if command := c.Command.Words; command != nil {
		return group.StartCommand(name, env, command, args...)
	}
	args = append([]string{"client", "agent"}, args...)
	if r.service.Halved(c) {
		return group.StartFamily(name, append(env, "TMPDIR="+group.Dir), args...)
	}
	return group.Start(name, env, args...)
}

// findCommands sees that the programs of clients are there before anything is started.
func (r *run) findCommands() error {
	if lacks := Lacks(r.service, r.variant); lacks != "" {
		return errors.New(lacks)
	}
	for _, name := range r.scenario.Clients {
		c := r.variant.Clients[name].Command
		if c.Words == nil {
			continue
		}
		if _, err := exec.LookPath(c.Words[0]); err != nil {
			return fmt.Errorf("%s.yaml:%d:%d: the command of %s cannot be run: %w", r.scenario.Name, c.Line, c.Column, name, err)
		}
	}
	return nil
}

// meddles reports whether some step about a client is such, or may yet be.
func (r *run) meddles(client string, such func(scenario.Step) bool) bool {
	return r.Next != nil || slices.ContainsFunc(r.variant.Steps, func(s scenario.Step) bool { return s.Client == client && such(s) })
}
