// Package s3 is the lock service S3: a server, whose program gcsim has compiled, the locks that people build on objects by
// conditional writes, and an account of tenures by what the server tells of the objects.
package s3

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/clients/peer"
	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/leaseaccount"
	"github.com/fencelab/fencelab/internal/service/s3/s3proc"
)

const Name = "s3"

// Service is S3. A client's other half is the program that the server is, too. A lock without a lease is to last no longer
// than others.
func Service() *service.Service {
	return &service.Service{
		Service: scenario.Service{Name: Name, About: "The lock service.", Client: clientSettings, Leases: true, Clash: clash},

		Found: s3proc.Found, Whole: s3proc.Program.Whole, Get: s3proc.Program.Get,
		Where:   "a server that gcsim starts",
		At:      func(string) (*service.Service, []string, error) { return nil, nil, errOwn },
		Command: s3proc.Command, Start: start,
		Join:  func(stage service.Stage, _ []string) service.Servers { return &servers{stage: stage} }, // Reach says why it is of no use
		Reach: func(context.Context, []string) error { return errOwn },

		Dial: dial, Halves: true, DefaultEndpoints: []string{"127.0.0.1:7070"},
		Shows: shows, Slot: leaseaccount.OwnerOf, Bounds: bounds, Model: inModel,
	}
}

// errOwn is why an S3 that is there already is of no use.
var errOwn = errors.New("the account of tenures needs a server that tells of each change of an object, and gcsim starts one: leave the address out")

var clash = service.ClashWithin("the server keeps an object in a file, which is no directory for the object of the other")

func dial(o service.Options) (service.Client, error) {
	if where, bring := s3proc.Found(); where == "" {
		return nil, fmt.Errorf("the clients of S3 are missing: %s", bring)
	}
	return peer.Start(peer.Program{Language: "Go", Command: s3proc.Client()}, o, slices.Concat(setting.Client, clientSettings))
}

func shows(client setting.Values) string {
	if service.RecipeOf(recipes, client) == &created {
		return history.ShowsNone
	}
	return history.ShowsGrant
}

// bounds: a client whose clock is ahead writes a later end of its lease. Who measures the lease of another one may begin
// to do so when that is over.
func bounds(_ setting.Values, clients map[string]scenario.Client) (list map[string]time.Duration, handover time.Duration) {
	list, handover = make(map[string]time.Duration), service.Slack
	for name, c := range clients {
		list[name] = c.Time(setting.TTL) + service.Slack
		switch r := service.RecipeOf(recipes, c.Values); {
		case r == &watched:
			handover = max(handover, list[name])
		case r.leases():
			list[name] += c.Time(setting.Ahead)
		}
	}
	return list, handover
}

func inModel(v *scenario.Variant, name string, _ *model.Settings, c *model.Client) (lacks string) {
	client := v.Clients[name]
	r := service.RecipeOf(recipes, client.Values)
	c.Clock, c.Renews, c.Releases = r.leases(), r.renews, r.releases
	c.Ahead = c.Clock && r != &watched && client.Time(setting.Ahead) > 0
	if r.forgets {
		return "deletes its token with the lock, and in the model tokens only grow"
	}
	return ""
}
