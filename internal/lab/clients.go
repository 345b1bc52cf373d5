package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/etcdproc"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/network"
	"github.com/fencelab/fencelab/internal/scenario"
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
	endpoints, err := r.endpointsOf(ctx, c)
	if err != nil {
		return err
	}
	n := new(links)
	w.links[name] = n
	if r.meddles(name, func(s scenario.Step) bool { return s.Service == scenario.TargetEtcd }) {
		for i, endpoint := range endpoints {
			l, err := network.New(strings.TrimPrefix(endpoint, "http://"))
			if err != nil {
				return err
			}
			n.etcd, endpoints[i] = append(n.etcd, l), l.Addr()
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
	session := c.Session
	if _, shared := r.variant.Clients[session]; shared {
		session = scenario.SessionOwn // it is told whose at each lock
	}
	args := []string{"client", "agent", "--name", name, "--endpoints", strings.Join(endpoints, ","),
		"--storage", w.storage.url(), "--send-storage", send, "--connect-timeout", startDeadline.String(), "--lock", r.lockOf(name), "--ttl", c.TTL.String(), "--timeout", c.Timeout.String(),
		"--token", c.Token, "--scope", c.Scope, "--session", session, "--reads", c.Reads,
		fmt.Sprintf("--numbered=%t", c.Numbered), "--change", c.Change, "--lock-delay", c.Delay.String()}
	if c.Look != scenario.LookBegin { // which is the agent's default
		args = append(args, "--look", c.Look)
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
			r.tell(e)
			return nil
		})
	})
	return nil
}

// meddles reports whether some step about a client is such.
func (r *run) meddles(client string, such func(scenario.Step) bool) bool {
	return slices.ContainsFunc(r.variant.Steps, func(s scenario.Step) bool { return s.Client == client && such(s) })
}

// endpointsOf are etcd's addresses that a client knows.
func (r *run) endpointsOf(ctx context.Context, c scenario.Client) ([]string, error) {
	if c.Member == scenario.MemberAny {
		return slices.Clone(r.world.endpoints), nil
	}
	m, err := r.member(ctx, c.Member)
	if err != nil {
		return nil, err
	}
	return []string{m.Endpoint()}, nil
}

func (r *run) member(ctx context.Context, which string) (*etcdproc.Member, error) {
	switch which {
	case scenario.MemberLeader:
		return r.leader(ctx)
	case scenario.MemberFollower:
		leader, err := r.leader(ctx)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(r.world.etcd.Members, func(m *etcdproc.Member) bool { return m != leader })
		return r.world.etcd.Members[i], nil
	}
	var members []*etcdproc.Member
	err := r.meanwhile(ctx, "the IDs of etcd's members", func(ctx context.Context) (err error) {
		members, err = r.world.etcd.ByLeaseID(ctx)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case which == scenario.MemberHighest:
		return members[len(members)-1], nil
	}
	return members[0], nil
}
