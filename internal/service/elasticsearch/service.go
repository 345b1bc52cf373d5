// Package elasticsearch is the lock service Elasticsearch, or OpenSearch: a real node, the
// locks that people build on documents, and an account of tenures by what the documents say.
package elasticsearch

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/elasticsearch/esproc"
	"github.com/fencelab/fencelab/internal/setting"
)

// Service is Elasticsearch.
type Service struct{ Dialer }

var (
	_ service.Service = Service{}
	_ service.Shared  = Service{}
	_ service.Getter  = Service{}
	_ service.Bounded = Service{}
	_ service.Keeper  = (*servers)(nil)
)

// Words implements service.Service, as those below do.
func (Service) Words() scenario.Service {
	return scenario.Service{Name: Name, About: "The lock service.", Client: clientSettings, Unqueued: true, Halfway: true, Compares: compares, Check: check}
}

// Faults are none: nothing is done to a node.
func (Service) Faults() []*service.Fault { return nil }

// Found is "" where Java or a jar is missing.
func (Service) Found() (where, bring string) { return esproc.Found() }

// Get implements service.Getter.
func (Service) Get(ctx context.Context, progress io.Writer) error { return esproc.Get(ctx, progress) }

// Where says what At takes.
func (Service) Where() string { return "the URL of one that is there already" }

// At takes a URL, with a user and a password where there are any. Clients are not told of
// these: they reach the node by the run's gate.
func (s Service) At(where string) (service.Service, []string, error) {
	_, err := at(where)
	if err != nil || !strings.Contains(where, "://") {
		return nil, nil, fmt.Errorf("want %s, such as https://USER:PASSWORD@HOST:9200", s.Where())
	}
	return s, []string{where}, nil
}

// Commands has the process of a node.
func (Service) Commands() []*cobra.Command { return []*cobra.Command{esproc.Command()} }

// Told implements service.Service, as those below do.
func (Service) Told(client string, all map[string]scenario.Client) setting.Values {
	return all[client].Values
}

func (Service) Shows(client setting.Values) string { return service.RecipeOf(recipes, client).shows }

// Slot is the owner, which clients choose anew for each tenure: they release together what
// they have taken together.
func (Service) Slot(tenure string) string {
	owner, _, _ := strings.Cut(tenure, " ")
	return owner
}

// Bounds implements service.Bounded. A lock without a lease is to last no longer than others.
// Who waits for one with a lease begins to measure the lease when it first sees the document.
// Nobody waits for a tenure that keeps nobody out.
func (Service) Bounds(_ setting.Values, clients map[string]scenario.Client) (bounds map[string]time.Duration, handover time.Duration) {
	bounds = make(map[string]time.Duration)
	for name, c := range clients {
		if service.RecipeOf(recipes, c.Values) == &versions {
			continue
		}
		bounds[name] = c.Time(setting.TTL) + service.Slack
		handover = max(handover, bounds[name])
	}
	return bounds, handover
}

// reachDeadline is for how long an Elasticsearch that is there already is asked.
const reachDeadline = 10 * time.Second

// Reach implements service.Service.
func (Service) Reach(ctx context.Context, endpoints []string) error {
	if len(endpoints) != 1 {
		return fmt.Errorf("%s: %d endpoints, want one", Name, len(endpoints))
	}
	n, err := at(endpoints[0])
	if err != nil {
		return fmt.Errorf("%s: %w", Name, err)
	}
	defer n.close()
	ctx, cancel := context.WithTimeoutCause(ctx, reachDeadline, fmt.Errorf("no answer after %v", reachDeadline))
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
