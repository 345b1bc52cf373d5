// Package elasticsearch is the lock service Elasticsearch, or OpenSearch: real nodes, the
// locks that people build on documents, and an account of tenures by what the documents say.
package elasticsearch

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/elasticsearch/esproc"
)

// servers are the nodes of a run, and the gate before them.
type servers struct {
	stage     service.Stage
	cluster   *esproc.Cluster // nil: they were there already
	endpoints []string        // of the nodes; the first has the primaries
	node      *node           // the last, which the account asks
	gate      *gate
	doors     []*door  // before each node
	addrs     []string // of the doors
}

func start(ctx context.Context, stage service.Stage) (service.Servers, error) {
	c, err := esproc.Start(ctx, stage.Group(), stage.Plan().World.Number(settingNodes))
	if err != nil {
		return nil, err
	}
	for _, n := range c.Nodes {
		service.Guard(stage, n.Process())
	}
	return &servers{stage: stage, cluster: c, endpoints: c.Endpoints()}, nil
}

func launch(ctx context.Context, g *proc.Group, _ setting.Values) (service.Launched, error) {
	c, err := esproc.Start(ctx, g, 1)
	if err != nil {
		return service.Launched{}, err
	}
	return service.Launched{Endpoints: c.Endpoints(), Processes: proc.Processes(c.Nodes)}, nil
}

func join(stage service.Stage, endpoints []string) service.Servers {
	return &servers{stage: stage, endpoints: endpoints}
}

// observeDeadline is for how long a node is asked for the beginning of the account.
const observeDeadline = time.Minute

func (s *servers) indices() []string {
	return []string{indexOf(s.stage.Plan().Prefix), filesOf(s.stage.Plan().Prefix)}
}

// Observe makes the run's indices, and opens the gate.
func (s *servers) Observe(ctx context.Context) error {
	starting, cancel := context.WithTimeoutCause(ctx, observeDeadline, fmt.Errorf("no answer from Elasticsearch after %v", observeDeadline))
	defer cancel()
	var err error
	if s.node, err = at(s.endpoints[len(s.endpoints)-1]); err != nil {
		return err
	}
	for _, index := range s.indices() {
		if err := s.makeIndex(starting, "/"+index); err != nil {
			return fmt.Errorf("make the index %s: %w", index, err)
		}
	}
	if err := warmUp(starting, s.node, s.stage.Plan().Prefix); err != nil {
		return fmt.Errorf("take locks for the first time: %w", err)
	}
	s.gate = &gate{node: s.node, account: newAccount(s.stage), files: newFiles(s.stage), locks: s.stage.Plan().Locks, fail: func(err error) { s.stage.Fail(nil, err) }}
	for _, endpoint := range s.endpoints {
		if err := s.open(ctx, endpoint); err != nil {
			return err
		}
	}
	return nil
}

// open opens the door before a node.
func (s *servers) open(ctx context.Context, endpoint string) error {
	n, err := at(endpoint)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	d := &door{gate: s.gate, node: n}
	s.doors, s.addrs = append(s.doors, d), append(s.addrs, listener.Addr().String())
	server := &http.Server{Handler: d.handler(), ReadHeaderTimeout: observeDeadline}
	s.stage.Go(func() { _ = server.Serve(listener) })
	s.stage.Go(func() {
		<-ctx.Done()
		_ = server.Close()
	})
	return nil
}

// warmUp has a node do once what clients will ask it for, on locks that are none of the run's:
// the first requests of a node, and of an index, may take longer than a lease lasts.
func warmUp(ctx context.Context, n *node, prefix string) error {
	settings := setting.Defaults(slices.Concat(setting.Client, clientSettings))
	settings[setting.TTL] = observeDeadline.String()
	for _, r := range recipes {
		c, scope := &client{*n, settings, r}, prefix+"/warm-up/"+r.name
		t, err := c.TryLock(ctx, scope, "")
		if err != nil {
			return err
		}
		if r == &versions {
			files, _ := c.Under(t)
			for _, op := range []string{history.OpWrite, history.OpDelete} {
				if err := files.Do(ctx, &history.Event{Op: op, Scope: scope, Key: "warm-up"}); err != nil {
					return err
				}
			}
		}
		if err := t.Unlock(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *servers) Endpoints(_ context.Context, client setting.Values) ([]string, error) {
	if client.Text(service.SettingMember) == service.MemberPrimary {
		return s.addrs[:1], nil
	}
	return s.addrs[len(s.addrs)-1:], nil
}

// Leave deletes the run's indices. A change that came later would make its index anew.
func (s *servers) Leave(ctx context.Context) {
	if s.node == nil {
		return
	}
	if s.gate != nil {
		s.gate.close()
	}
	_ = s.node.call(ctx, http.MethodDelete, "/"+strings.Join(s.indices(), ","), nil, nil)
	s.node.close()
	for _, d := range s.doors {
		d.node.close()
	}
}

// Service is Elasticsearch. Clients are not told of the user and the
// password of a node that is there already: they reach the node by the run's gate.
func Service() *service.Service {
	return &service.Service{
		Service: scenario.Service{
			Name: Name, About: "The lock service.", World: worldSettings, Client: clientSettings, Words: []string{service.MemberPrimary},
			Halfway: true, Leases: true, Compares: compares, Check: check, Own: own,
		},
		Faults: []*service.Fault{isolatePrimary},
		Found:  esproc.Found, Whole: esproc.Libraries.Whole, Get: esproc.Libraries.Get,
		Where: whereIs,
		At: func(where string) (*service.Service, []string, error) {
			if _, err := at(where); err != nil || !strings.Contains(where, "://") {
				return nil, nil, fmt.Errorf("want %s, such as https://USER:PASSWORD@HOST:9200", whereIs)
			}
			return Service(), []string{where}, nil
		},
		Command: esproc.Command, NodesOf: nodesOf, Start: start, Launch: launch, Join: join, Reach: reach,

		Dial: Dial, DefaultEndpoints: []string{"127.0.0.1:9200"},
		Shows:  func(client setting.Values) string { return service.RecipeOf(recipes, client).shows },
		Slot:   slotOf,
		Bounds: bounds,
		Model:  inModel,
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

const (
	unlockHeld   = "held"
	unlockAlways = "always"

	settingRefresh = "refresh"
	settingAlso    = "also"
	alsoNone       = "none"

	settingCompare = "compare"

	settingVersion  = "version"
	versionInternal = "internal"
	versionExternal = "external"

	lookDocument = "document"
)

var clientSettings = []setting.Setting{
	service.ByRecipe(recipes, &guarded),
	{Name: setting.Unlock, Default: unlockHeld, Of: []string{unlockHeld, unlockAlways},
		About: "When it releases a lock. held: when it has held the lock. always: also when it did not get it, as in a \"finally\"."},
	{Name: settingRefresh, Kind: setting.Flag, Default: "true",
		About: "Whether it refreshes the index before it deletes by query (document, bulk) or searches (versions). Without that the query does not find what was created since the last refresh."},
	{Name: settingAlso, Default: alsoNone, Pattern: `^[a-z0-9.-]+(\+[a-z0-9.-]+)*$`, Want: "names with + between them, like a+b",
		About: "The documents in the lock's directory that the recipe bulk takes with the lock's document: names like 1+3. none: no others."},
	{Name: settingCompare, Kind: setting.Flag, Default: "true",
		About: "With versions: whether a change is made only if the document is as the client has found or made it."},
	{Name: settingVersion, Default: versionInternal, Of: []string{versionInternal, versionExternal},
		About: "What the version of a document is. internal: Elasticsearch counts its changes. external: a change gives it the token of its tenure (version_type=external), and is refused unless that is higher than the document's. With global-guarded and storage: {in: service}."},
	{Name: service.SettingMember, Default: service.MemberAny, Of: []string{service.MemberAny, service.MemberPrimary},
		About: "The node that it talks to. primary: the one that has the primary copies of all documents when the story begins; needs three nodes. any: another one, if there are several."},
	setting.LookOf("session: at the end of the lease by its own clock; without a lease it believes that it holds the lock. document: it asks the node that it talks to whether the document names it, by the node's own copy; with global-guarded, global-guarded-read, document and bulk.", lookDocument),
}

// compares reports whether a client's changes compare a document with what it has found.
func compares(c scenario.Client) bool {
	return service.RecipeOf(recipes, c.Values) == &versions && c.Flag(settingCompare) || c.Text(settingVersion) == versionExternal
}

func check(w scenario.World, clients map[string]scenario.Client) *scenario.Conflict {
	inService := w.Storage.In == scenario.InService
	for _, name := range slices.Sorted(maps.Keys(clients)) {
		c := clients[name]
		by := service.RecipeOf(recipes, c.Values)
		switch {
		case c.Text(service.SettingMember) == service.MemberPrimary && w.Settings.Number(settingNodes) == 1:
			return &scenario.Conflict{Client: name, Setting: service.SettingMember, Text: lacksNodes}
		case c.Text(settingVersion) == versionExternal && (by != &guarded || !inService):
			return &scenario.Conflict{Client: name, Setting: settingVersion, Text: "the version is the token of " + guarded.name + " in the documents that have the data: leave \"version\" out, or \"by\", and want \"storage: {in: service}\""}
		case by == &versions && !inService:
			return &scenario.Conflict{Client: name, Setting: service.By, Text: by.name + " compares the documents that have the data: it needs \"storage: {in: service}\""}
		case by != &versions && !c.Flag(settingCompare):
			return &scenario.Conflict{Client: name, Setting: settingCompare, Text: by.name + " compares nothing: leave \"compare\" out"}
		case inService && c.Text(setting.Change) != setting.ChangeSingly:
			return &scenario.Conflict{Client: name, Setting: setting.Change, Text: "Elasticsearch changes no two documents in one step: want \"change: singly\""}
		}
	}
	return nil
}
