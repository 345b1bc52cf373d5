// Package nats is the lock service NATS: members with JetStream, whose program gcsim has compiled, the locks that people
// build on the keys of a bucket (JetStream KeyValue), and an account of tenures by what the bucket's stream publishes.
package nats

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fencelab/fencelab/internal/clients/peer"
	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/nats/natsproc"
)

const Name = "nats"

// Service is NATS. A client's other half is the program that members are, too. A lock whose key has no TTL is to last no
// longer than others.
func Service() *service.Service {
	return &service.Service{
		Service: scenario.Service{
			Name: Name, About: "The lock service.", World: worldSettings, Client: clientSettings,
			Words: []string{service.Leader}, Nodes: nodes.Name + "[0-9]+", Leases: true,
			Check: check, Own: nodes.Own("members of NATS", "single members of NATS"),
		},
		Faults: slices.Concat(nodes.LeaderFaults(), []*service.Fault{nodes.KillLeader()}, nodes.MemberFaults()),

		Found: natsproc.Found, Whole: natsproc.Program.Whole, Get: natsproc.Program.Get,
		Where:   "members that gcsim starts",
		At:      func(string) (*service.Service, []string, error) { return nil, nil, errOwn },
		Command: natsproc.Command, NodesOf: nodes.NodesOf, Leader: nodes.Leader, Start: start,
		Join:   func(stage service.Stage, _ []string) service.Servers { return serversOf(stage, new(natsproc.Cluster)) }, // Reach says why it is of no use
		Reach:  func(context.Context, []string) error { return errOwn },
		Greets: true,

		Dial: dial, Halves: true, DefaultEndpoints: []string{"127.0.0.1:4222"},
		Shows:  func(setting.Values) string { return history.ShowsGrant },
		Bounds: service.BoundsBy(0), Model: inModel,
	}
}

// errOwn is why a NATS that is there already is of no use.
var errOwn = errors.New("the account of tenures needs a bucket whose stream publishes what it stores, and gcsim makes one in members that it starts: leave the address out")

func dial(o service.Options) (service.Client, error) {
	if where, bring := natsproc.Found(); where == "" {
		return nil, fmt.Errorf("the clients of NATS are missing: %s", bring)
	}
	return peer.Start(peer.Program{Language: "Go", Command: natsproc.Client()}, o, slices.Concat(setting.Client, clientSettings))
}

func check(w scenario.World, clients map[string]scenario.Client) *scenario.Conflict {
	for _, name := range slices.Sorted(maps.Keys(clients)) {
		if clients[name].Text(service.SettingMember) == service.MemberFollower && w.Settings.Number(nodes.Setting) < 3 {
			return &scenario.Conflict{Client: name, Setting: service.SettingMember, Text: "NATS has one member, and so no follower: it needs \"members: 3\""}
		}
	}
	return nil
}

// inModel has the members as one.
func inModel(v *scenario.Variant, name string, _ *model.Settings, c *model.Client) (lacks string) {
	r := service.RecipeOf(recipes, v.Clients[name].Values)
	c.Renews, c.Releases = r.renews, r.releases
	return ""
}
