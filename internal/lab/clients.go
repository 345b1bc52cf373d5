package lab

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/network"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/setting"
)

// startClients starts the clients, and awaits that they are ready.
func (r *run) startClients(ctx context.Context) error {
	for _, name := range r.scenario.Clients {
		if err := r.startClient(ctx, name); err != nil {
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

func (r *run) startClient(ctx context.Context, name string) error {
	c, w := r.variant.Clients[name], r.world
	endpoints, err := r.servers.Endpoints(ctx, c.Values)
	if err != nil {
		return err
	}
	n := new(links)
	w.links[name] = n
	if r.meddles(name, func(s scenario.Step) bool { return s.Other == r.service.Name() }) {
		for i, endpoint := range endpoints {
			l, err := network.New(endpoint)
			if err != nil {
				return err
			}
			n.service, endpoints[i] = append(n.service, l), l.Addr()
		}
	}
	send := w.storage.url()
	if r.meddles(name, func(s scenario.Step) bool { return s.Send }) {
		if n.storage, err = network.New(w.storage.addr); err != nil {
			return err
		}
		send = "http://" + n.storage.Addr()
	}
	var env []string
	if r.meddles(name, func(s scenario.Step) bool { return s.Verb == scenario.Load }) {
		env = gcEnv
	}
	args := []string{"client", "agent", "--name", name, "--service", r.service.Name(), "--endpoints", strings.Join(endpoints, ","), "--lock", r.lockOf(name),
		"--storage", w.storage.url(), "--send-storage", send, "--connect-timeout", startDeadline.String()}
	told := r.service.Told(name, r.variant.Clients)
	for _, s := range slices.Concat(setting.Client, r.service.ClientSettings()) {
		args = append(args, "--"+s.Name+"="+told.Text(s.Name))
	}
	p, err := w.group.Start(name, env, args...)
	if err != nil {
		return err
	}
	w.clients[name] = p
	w.readers.Go(func() {
		r.readLines(p, p.Stdout, func(b []byte) error {
			var e history.Event
			if err := json.Unmarshal(b, &e); err != nil {
				return err
			}
			r.Tell(e)
			return nil
		})
	})
	return nil
}

// meddles reports whether some step about a client is such.
func (r *run) meddles(client string, such func(scenario.Step) bool) bool {
	return slices.ContainsFunc(r.variant.Steps, func(s scenario.Step) bool { return s.Client == client && such(s) })
}
