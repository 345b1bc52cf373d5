// Package elasticsearch is the lock service Elasticsearch, or OpenSearch: a real node, the
// locks that people build on documents, and an account of tenures by what the documents say.
package elasticsearch

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/elasticsearch/esproc"
)

// Service is Elasticsearch. Nothing is done to a node. Clients are not told of the user and the
// password of a node that is there already: they reach the node by the run's gate.
func Service() *service.Service {
	return &service.Service{
		Service: scenario.Service{Name: Name, About: "The lock service.", Client: clientSettings, Halfway: true, Compares: compares, Check: check},
		Found:   esproc.Found, Get: esproc.Libraries.Get,
		Where: whereIs,
		At: func(where string) (*service.Service, []string, error) {
			if _, err := at(where); err != nil || !strings.Contains(where, "://") {
				return nil, nil, fmt.Errorf("want %s, such as https://USER:PASSWORD@HOST:9200", whereIs)
			}
			return Service(), []string{where}, nil
		},
		Command: esproc.Command, Launch: launch, Join: join, Reach: reach,

		Dial: Dial, DefaultEndpoints: []string{"127.0.0.1:9200"},
		Shows:  func(client setting.Values) string { return service.RecipeOf(recipes, client).shows },
		Slot:   slotOf,
		Bounds: bounds,
	}
}

const whereIs = "the URL of one that is there already"

// slotOf is the owner, which clients choose anew for each tenure: they release together what
// they have taken together.
func slotOf(tenure string) string {
	owner, _, _ := strings.Cut(tenure, " ")
	return owner
}

// bounds: a lock without a lease is to last no longer than others.
// Who waits for one with a lease begins to measure the lease when it first sees the document.
// Nobody waits for a tenure that keeps nobody out.
func bounds(_ setting.Values, clients map[string]scenario.Client) (list map[string]time.Duration, handover time.Duration) {
	list = make(map[string]time.Duration)
	for name, c := range clients {
		if service.RecipeOf(recipes, c.Values) == &versions {
			continue
		}
		list[name] = c.Time(setting.TTL) + service.Slack
		handover = max(handover, list[name])
	}
	return list, handover
}

func reach(ctx context.Context, endpoints []string) error {
	if len(endpoints) != 1 {
		return fmt.Errorf("%s: %d endpoints, want one", Name, len(endpoints))
	}
	n, err := at(endpoints[0])
	if err != nil {
		return fmt.Errorf("%s: %w", Name, err)
	}
	defer n.close()
	ctx, cancel := context.WithTimeoutCause(ctx, service.ReachDeadline, fmt.Errorf("no answer after %v", service.ReachDeadline))
	defer cancel()
	var about struct{ Version struct{ Number string } }
	if err := n.call(ctx, http.MethodGet, "/", nil, &about); err != nil {
		return fmt.Errorf("%s at %s: %w", Name, n.url.Redacted(), err)
	}
	if about.Version.Number == "" {
		return fmt.Errorf("%s at %s: it does not say its version: it is no Elasticsearch", Name, n.url.Redacted())
	}
	return nil
}
