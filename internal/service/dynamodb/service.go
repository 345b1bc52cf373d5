// Package dynamodb is the lock service DynamoDB: Amazon's stand-in for it, DynamoDB Local, the locks that people build on items
// by conditional writes, and an account of tenures by what the items say after each change.
package dynamodb

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/clients/peer"
	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/dynamodb/ddbproc"
	"github.com/fencelab/fencelab/internal/service/leaseaccount"
)

const Name = "dynamodb"

// Service is DynamoDB. A client's other half is a program in Go. A lock without a lease is to last no longer than others.
func Service() *service.Service {
	return &service.Service{
		Service: scenario.Service{Name: Name, About: "The lock service.", Client: clientSettings, Leases: true, Compares: compares, Check: check},

		Found: ddbproc.Found, Whole: ddbproc.Whole, Get: ddbproc.Get,
		Where:   "a DynamoDB Local that gcsim starts",
		At:      func(string) (*service.Service, []string, error) { return nil, nil, errOwn },
		Command: ddbproc.Command, Launch: launch, Join: join,
		Reach: func(context.Context, []string) error { return errOwn },

		Dial: dial, Halves: true, Peer: func(client setting.Values) string { return service.RecipeOf(recipes, client).peer },
		DefaultEndpoints: []string{"127.0.0.1:8000"},
		Shows:            shows, Slot: leaseaccount.OwnerOf, Bounds: bounds, Model: inModel,
	}
}

// errOwn is why a DynamoDB that is there already is of no use.
var errOwn = errors.New("the account of tenures needs all requests to pass by gcsim, which DynamoDB would refuse, as it is not whom they are signed for; gcsim starts a DynamoDB Local: leave the address out")

func dial(o service.Options) (service.Client, error) {
	if by := service.RecipeOf(recipes, o.Settings); by.peer != "" {
		return nil, service.ErrOriginal(by.name)
	}
	if where, bring := ddbproc.Found(); where == "" {
		return nil, fmt.Errorf("the clients of DynamoDB are missing: %s", bring)
	}
	half, err := peer.Start(peer.Program{Language: "Go", Command: ddbproc.Client()}, o, slices.Concat(setting.Client, clientSettings))
	if err != nil {
		return nil, err
	}
	return &client{half, "http://" + o.Endpoints[0] + "/", http.Client{Transport: half.Transport(true)}, o.Settings.Text(settingFence)}, nil
}

func shows(client setting.Values) string {
	if service.RecipeOf(recipes, client).counts() {
		return history.ShowsGrant
	}
	return history.ShowsNone
}

// bounds: who measures the lease of another one may begin to do so when that is over. A client whose clock is ahead writes a
// later end of its lease.
func bounds(_ setting.Values, clients map[string]scenario.Client) (list map[string]time.Duration, handover time.Duration) {
	list, handover = make(map[string]time.Duration), service.Slack
	for name, c := range clients {
		list[name] = c.Time(setting.TTL) + service.Slack
		switch r := service.RecipeOf(recipes, c.Values); {
		case r == &compared:
			list[name] += c.Time(setting.Ahead)
		case r.leases():
			handover = max(handover, list[name])
		}
	}
	return list, handover
}

func inModel(v *scenario.Variant, name string, _ *model.Settings, c *model.Client) (lacks string) {
	client := v.Clients[name]
	r := service.RecipeOf(recipes, client.Values)
	c.Clock, c.Renews, c.Releases = r.leases(), r.renews, r.releases
	c.Ahead = r == &compared && client.Time(setting.Ahead) > 0
	if compares(client) {
		return "compares its token in DynamoDB, and in the model that is the storage's"
	}
	if r.forgets {
		return "deletes its token with the lock, and in the model tokens only grow"
	}
	return ""
}
