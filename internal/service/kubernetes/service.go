// Package kubernetes is the lock service Kubernetes: an API server, the Leases by which client-go elects a leader, and an
// account of tenures by what the API server writes to its etcd. The programs of server and clients are in package kubeproc.
package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/clients/peer"
	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/kubernetes/kubeproc"
)

const Name = "kubernetes"

func Service() *service.Service {
	return &service.Service{
		Service: scenario.Service{
			Name: Name, About: "The lock service.", Client: clientSettings, Nodes: nodes.Name + "[0-9]+",
			Leases: true, Renews: true, Check: check, Clash: clash,
		},
		Faults: append(signals, deleteLease),

		Apart: true, Found: kubeproc.Found, Whole: kubeproc.Whole, Get: kubeproc.Get,
		Where:   "an API server that gcsim starts",
		At:      func(string) (*service.Service, []string, error) { return nil, nil, errOwn },
		Command: kubeproc.Command, Start: start, Launch: launch, Join: join,
		Reach: func(context.Context, []string) error { return errOwn },

		Dial: dial, Halves: true, DefaultEndpoints: []string{"127.0.0.1:6443"},
		Shows: func(client setting.Values) string {
			if client.Text(setting.Token) == tokenVersion {
				return history.ShowsGrant
			}
			return history.ShowsAny
		},
		Slot: holderOf, Bounds: bounds, Model: inModel,
	}
}

// errOwn is why a Kubernetes that is there already is of no use.
var errOwn = errors.New("the account of tenures is a watch of the etcd of an API server, which keeps its objects there in JSON, and gcsim starts both: leave the address out")

func dial(o service.Options) (service.Client, error) {
	if where, bring := kubeproc.Client.FoundBy("gcsim services get " + Name); where == "" {
		return nil, fmt.Errorf("the clients of Kubernetes are missing: %s", bring)
	}
	return peer.Start(peer.Program{Language: "Go", Command: []string{kubeproc.Client.Path()}}, o, slices.Concat(setting.Client, clientSettings))
}

// nameOfLease is what Kubernetes takes as one.
var nameOfLease = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

func check(_ scenario.World, clients map[string]scenario.Client) *scenario.Conflict {
	for _, name := range slices.Sorted(maps.Keys(clients)) {
		if lease := leaseOf(clients[name].Lock); !nameOfLease.MatchString(lease) {
			return &scenario.Conflict{Client: name, Setting: "lock", Text: fmt.Sprintf("Kubernetes has no Lease called %q: want letters, digits, - and /", lease)}
		}
	}
	return nil
}

func clash(lock, other string) string {
	if lock == other || leaseOf(lock) != leaseOf(other) {
		return ""
	}
	return fmt.Sprintf("the locks %q and %q are one Lease, %s", lock, other, leaseOf(lock))
}

// bounds are those of a Lease that nobody renews. Who begins to wait then counts its whole time anew, by the time when it
// has seen the Lease first, and asks after 2.2 times the RetryPeriod at most.
func bounds(world setting.Values, clients map[string]scenario.Client) (map[string]time.Duration, time.Duration) {
	bounds, handover := service.BoundsBy(0)(world, clients)
	longest := time.Duration(0)
	for _, c := range clients {
		ttl := c.Time(setting.TTL)
		longest = max(longest, ttl+ttl*service.RecipeOf(recipes, c.Values).retry*22/150)
	}
	return bounds, handover + longest
}

// inModel has the API server and its etcd as one. IsLeader goes by what client-go has seen, and by no clock. A leader with a
// long RenewDeadline that is cut off can be told of its loss when another one leads.
func inModel(v *scenario.Variant, name string, _ *model.Settings, c *model.Client) (lacks string) {
	client := v.Clients[name]
	by := service.RecipeOf(recipes, client.Values)
	c.Cutoff = by == &longDeadline
	switch {
	case by != &noRelease && by != &longDeadline:
		return "can empty the Lease of another one, and who unlocks in the model ends its own lease"
	case client.Text(setting.Token) != tokenVersion:
		return "shows a number that the Lease has, and in the model the lock service counts"
	case client.Text(setting.Look) == lookAcquired:
		c.Look = model.LookNothing
	}
	return ""
}
