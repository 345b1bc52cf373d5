// Package memlock_test has a lock service for tests alone: a server that keeps its locks in
// memory. It shows that a lock service is one folder.
package memlock_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/ports"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
)

const (
	name = "memlock"

	settingGrace = "grace"

	tokenCount = "count"
	tokenNone  = "none"
)

var worldSettings = []setting.Setting{
	{Name: settingGrace, Kind: setting.Time, Default: "0s", Of: []string{"0s", "1s"}, About: "How long after a lease ran out its lock is granted to the next."},
}

var clientSettings = []setting.Setting{
	{Name: setting.Token, Default: tokenCount, Of: []string{tokenCount, tokenNone}, About: "What it shows to the storage. count: the number of its place. none: no token."},
}

// Service is the lock service in memory.
func Service() *service.Service {
	return &service.Service{
		Service: scenario.Service{Name: name, About: "A lock service in memory.", World: worldSettings, Client: clientSettings, Halfway: true},
		Faults:  []*service.Fault{&forget},

		Found:   func() (where, bring string) { return "in tests", "" },
		Where:   "HOST:PORT of a server that is there already",
		At:      func(where string) (*service.Service, []string, error) { return Service(), []string{where}, nil },
		Command: command, Launch: launch, Reach: reach,
		Join: func(stage service.Stage, endpoints []string) service.Servers {
			return &servers{newCaller(endpoints[0]), endpoints, stage}
		},

		Dial: func(o service.Options) (service.Client, error) {
			if len(o.Endpoints) != 1 {
				return nil, fmt.Errorf("endpoints are %q, want one", o.Endpoints)
			}
			return &client{newCaller(o.Endpoints[0]), o.Settings}, nil
		},
		Shows: func(client setting.Values) string {
			return map[string]string{tokenCount: history.ShowsGrant, tokenNone: history.ShowsNone}[client.Text(setting.Token)]
		},
		Bounds: func(world setting.Values, clients map[string]scenario.Client) (map[string]time.Duration, time.Duration) {
			bounds, handover := service.BoundsBy(0)(world, clients)
			return bounds, handover + world.Time(settingGrace)
		},
		Position: func(ctx context.Context, s service.Servers) (fence.Token, error) { return s.(*servers).position(ctx) },
	}
}

func reach(ctx context.Context, endpoints []string) error {
	for _, e := range endpoints {
		c := newCaller(e)
		err := errors.Join(c.Reach(ctx), c.Close(ctx))
		if err != nil {
			return fmt.Errorf("%s at %s: %w", name, e, err)
		}
	}
	return nil
}

func launch(ctx context.Context, g *proc.Group, world setting.Values) (service.Launched, error) {
	free, err := ports.Free(1)
	if err != nil {
		return service.Launched{}, err
	}
	p, err := g.Start(name, nil, name, "--"+settingGrace, world.Text(settingGrace), free[0])
	if err != nil {
		return service.Launched{}, err
	}
	return service.Launched{Endpoints: free, Processes: []*proc.Process{p}}, p.Await(ctx, newCaller(free[0]).Reach)
}

// servers are the one server, as a run sees it.
type servers struct {
	*caller
	endpoints []string
	stage     service.Stage
}

// Endpoints implements service.Servers, as those below do.
func (s *servers) Endpoints(context.Context, setting.Values) ([]string, error) {
	return slices.Clone(s.endpoints), nil
}

func (s *servers) prefix() url.Values { return url.Values{"prefix": {s.stage.Plan().Prefix}} }

func (s *servers) Observe(ctx context.Context) error {
	resp, err := s.open(ctx, http.MethodGet, "/events", s.prefix())
	if err != nil {
		return fmt.Errorf("observer: %w", err)
	}
	s.stage.Go(func() {
		defer resp.Body.Close()
		for lines := json.NewDecoder(resp.Body); ; {
			var e history.Event
			if err := lines.Decode(&e); err != nil {
				if ctx.Err() == nil {
					s.stage.Fail(nil, fmt.Errorf("the observer of %s: %w", name, err))
				}
				return
			}
			s.stage.Tell(e)
		}
	})
	return nil
}

func (s *servers) position(ctx context.Context) (fence.Token, error) {
	var counted service.Standing
	err := s.stage.Meanwhile(ctx, "the server's count", func(ctx context.Context) error {
		return s.call(ctx, http.MethodGet, "/count", nil, &counted)
	})
	return counted.Token, err
}

// Leave forgets the run's holders; who waits behind them follows, or runs out.
func (s *servers) Leave(ctx context.Context) { _ = s.forget(ctx) }

func (s *servers) forget(ctx context.Context) error {
	return s.call(ctx, http.MethodPost, "/forget", s.prefix(), nil)
}

// forget is the server's own fault: it keeps nothing of its holders, and their tenures
// overlap with those after them.
var forget = service.Fault{
	Form: scenario.Form{
		Actor: scenario.ActorLab, Usage: "forget holders", Target: scenario.TheService,
		About: "The server forgets who holds its locks.",
	},
	Do: func(ctx context.Context, of service.Servers, story service.Story, _ scenario.Step) error {
		s := of.(*servers)
		return service.Noted(story, "the server has forgotten who holds its locks", func() error {
			return story.Meanwhile(ctx, "the server to forget its holders", s.forget)
		})
	},
}
