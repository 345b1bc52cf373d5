// Package redis is the lock service Redis: nodes that are a process each, real ones or
// embedded ones, the locks that people build on them, and an account of tenures by the
// nodes' replication streams. A recipe is an entry in the table of its kind, and a fault is a file.
package redis

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
)

// Service is Redis, where the environment says that it is.
func Service() *service.Service { return serviceAt(place{url: os.Getenv(urlEnv)}) }

type place struct {
	url      string // but for the address, of one that is there already; "": without more
	embedded bool   // the user wants the embedded one
}

func serviceAt(p place) *service.Service {
	s := &service.Service{
		Service: scenario.Service{
			Name: Name, About: "The lock service.",
			World: worldSettings, Client: clientSettings,
			Nodes: nodes.Name + "[0-9]+", Halfway: true, Leases: true,
			Check: check, Own: own,
		},
		Faults: append(unwatched(signals), isolate, heal, promote, awaitPromotion, fill, jump, moveSome, moveAll),

		Found: p.found, Where: wantEmbedded + ", or the URL of one that is there already", At: at,
		Command: command, NodesOf: layout, Start: p.start, Join: p.join, Reach: p.reach,
		Lacks: p.lacks,

		Dial: Dial, DefaultEndpoints: []string{"127.0.0.1:6379"},
		Peer:  func(client setting.Values) string { return service.RecipeOf(recipes, client).peer() },
		Shows: shows, Slot: ownerOf, Bounds: service.BoundsBy(0), Model: inModel,
	}
	if p.url != "" {
		s.Env = []string{urlEnv + "=" + p.url}
	}
	return s
}

var nodes = service.Nodes{Name: Name, Setting: settingNodes, One: "node of Redis", Many: "nodes of Redis"}

// layout is nodes that know nothing of one another, or that are masters together; or a master and its replicas.
func layout(world setting.Values) []history.Node {
	if replicas := world.Number(settingReplicas); replicas > 0 {
		return service.NodesOf(Name, 1+replicas, firstMaster)
	}
	return service.NodesOf(Name, world.Number(settingNodes), "")
}

func shows(client setting.Values) string {
	if client.Text(setting.Token) == setting.TokenReadAgain {
		return history.ShowsAny
	}
	return cmp.Or(service.RecipeOf(recipes, client).common().gives, history.ShowsNone)
}

// program is the Redis that runs; "" is the embedded one.
func (p place) program() string {
	if p.embedded {
		return ""
	}
	return redisproc.Program()
}

// programFor is the Redis that runs a story: only the clock of an embedded one can jump.
func (p place) programFor(steps []scenario.Step) string {
	if slices.ContainsFunc(steps, func(s scenario.Step) bool { return s.ID == jump.Form.ID() }) {
		return ""
	}
	return p.program()
}

// found is never "": there is the embedded one.
func (p place) found() (where, bring string) {
	switch program := p.program(); {
	case program != "":
		return program, ""
	case p.embedded:
		return "embedded, miniredis", ""
	}
	return "embedded, miniredis; for all its scenarios: " + redisproc.Install, ""
}

// at takes a URL with a password and TLS where there are any.
func at(where string) (*service.Service, []string, error) {
	if where == wantEmbedded {
		return serviceAt(place{embedded: true}), nil, nil
	}
	options, err := redis.ParseURL(where)
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("want %s such as redis://HOST:PORT or rediss://USER:PASSWORD@HOST:PORT: %w", Service().Where, err)
	case options.Network != "tcp":
		return nil, nil, fmt.Errorf("want the URL of a Redis that listens at HOST:PORT, and not on a socket")
	case options.DB != 0:
		return nil, nil, fmt.Errorf("the URL names the database %d: runs use the database 0, below a prefix of their own", options.DB)
	}
	return serviceAt(place{url: where}), []string{options.Addr}, nil
}

func command() *cobra.Command {
	return &cobra.Command{
		Use: redisproc.Arg + " ADDRESS PROGRAM [ARGUMENT]...", Short: "Be a node of Redis", Hidden: true,
		DisableFlagParsing: true,
		RunE:               func(_ *cobra.Command, args []string) error { return redisproc.Run(args) },
	}
}

// lacks is what the Redis that a variant would get lacks. Only a real one has replicas, keeps what it was told
// when it ends, and has a bound of its memory.
func (p place) lacks(v *scenario.Variant) string {
	world := v.World.Settings
	embeddedDoes := world.Text(settingPersistence) == persistenceNone && world.Text(settingEviction) == evictionNone &&
		world.Number(settingReplicas) == 0 && !world.Flag(settingCluster) && !v.Has(&fill.Form)
	switch {
	case embeddedDoes || p.programFor(v.Steps) != "":
		return ""
	case v.Has(&jump.Form):
		return "it needs a real Redis, and a clock that jumps, which only the embedded one has"
	}
	return "it needs redis-server or valkey-server: " + redisproc.Install
}

const wantEmbedded = "embedded"

func own(world setting.Values, _ map[string]scenario.Client) (why []string) {
	for _, s := range []struct{ setting, usual, why string }{
		{settingNodes, "1", "wants %s nodes of Redis"},
		{settingPersistence, persistenceNone, "wants a Redis with the persistence %s"},
		{settingEviction, evictionNone, "wants a Redis with the eviction %s"},
		{settingReplicas, "0", "wants a Redis with a replica"},
		{settingCluster, "false", "wants a Redis Cluster"},
	} {
		if v := world.Text(s.setting); v != s.usual {
			why = append(why, strings.ReplaceAll(s.why, "%s", v))
		}
	}
	return why
}

// rule refuses what a client has chosen beside its recipe.
type rule struct {
	setting string
	broken  func(r *traits, c scenario.Client) bool
	text    string // after the name of the recipe
}

func renews(_ *traits, c scenario.Client) bool { return c.Text(settingRenew) != renewNone }

func renewsOrFrees(r *traits, c scenario.Client) bool {
	return renews(r, c) || c.Text(setting.Unlock) != unlockCompare
}

func waits(_ *traits, c scenario.Client) bool { return c.Number(settingWait) > 0 }

var (
	ofOneNode = rule{settingRenew, func(r *traits, c scenario.Client) bool { return r.on != theOne && renews(r, c) },
		`renews nothing: leave "renew" out`}
	inItsWay = rule{service.By, renewsOrFrees, `renews and releases its locks in its own way: leave "renew" and "unlock" out`}
	asItIs   = rule{service.By, func(r *traits, c scenario.Client) bool { return renewsOrFrees(r, c) || waits(r, c) },
		`has a lease that nothing renews, and an unlock of its own: leave "renew", "unlock" and "wait" out`}
	unreplicated = rule{settingWait, waits, `waits for no replica: leave "wait" out`}
	unaskable    = rule{setting.Look, asksInVain,
		`cannot be asked whether a majority has the lock: leave "look" out`}
	direct = rule{settingVotes, func(_ *traits, c scenario.Client) bool {
		return c.Text(settingVotes) == votesCluster && (c.Text(setting.Look) == lookOwner || c.Text(setting.Token) == setting.TokenReadAgain)
	},
		`asks no node of a Redis Cluster by itself: leave "look" and "token" out`}
	countless = rule{setting.Token, func(r *traits, c scenario.Client) bool {
		return r.gives == "" && c.Text(setting.Token) != setting.TokenGranted
	},
		`counts no token that could be read again: leave "token" out`}
)

// asksInVain reports whether a client is to ask whether most nodes have given it its lock, and cannot.
func asksInVain(r *traits, c scenario.Client) bool {
	return r.on != theOne && !r.asks && c.Text(setting.Look) == lookOwner
}

func check(w scenario.World, clients map[string]scenario.Client) *scenario.Conflict {
	n, replicas := w.Settings.Number(settingNodes), w.Settings.Number(settingReplicas)
	if n > 1 && replicas > 0 {
		return &scenario.Conflict{Setting: settingReplicas, Text: fmt.Sprintf("a node alone has a replica, and the world has %d nodes: want \"nodes: 1\"", n)}
	}
	cluster := w.Settings.Flag(settingCluster)
	switch sentinels := w.Settings.Number(settingSentinels); {
	case (sentinels > 0) != (replicas == 2):
		return &scenario.Conflict{Setting: settingSentinels, Text: "sentinels watch a master and two replicas: want both \"replicas: 2\" and \"sentinels: 3\", or neither"}
	case cluster && (n != 3 || w.Settings.Text(settingPersistence) != persistenceNone):
		return &scenario.Conflict{Setting: settingCluster, Text: "a Redis Cluster has three masters here, which keep nothing: want \"nodes: 3\" and \"persistence: none\""}
	case sentinels == 0 && w.Settings.Number(settingMinReplicas) > 0:
		return &scenario.Conflict{Setting: settingMinReplicas, Text: "with one replica nobody could write after its master is gone: want \"replicas: 2\" and \"sentinels: 3\""}
	}
	other, otherOn := "", theOne // a client whose lock is of several nodes
	for _, name := range slices.Sorted(maps.Keys(clients)) {
		c := clients[name]
		by := service.RecipeOf(recipes, c.Values)
		r := by.common()
		conflict := func(setting, text string, args ...any) *scenario.Conflict {
			return &scenario.Conflict{Client: name, Setting: setting, Text: fmt.Sprintf(text, args...)}
		}
		switch {
		case r.on != theOne && otherOn != theOne && r.on != otherOn:
			return conflict(service.By, "%s's lock needs all nodes or most of them, and %s's the other: "+
				"by its keys nobody can tell which of them holds it. Want one of these for all clients", name, other)
		case !cluster && (r.on == theOne) != (n == 1):
			return conflict(service.By, "the world has %d nodes of Redis, and %s is no lock of so many: "+
				"redlock and its kin need 3 or 5, every other recipe 1", n, r.name)
		case cluster != (c.Text(settingVotes) == votesCluster) || cluster && !ofPackage(by):
			return conflict(settingVotes, "in a Redis Cluster the story needs clients with a recipe of package redislock and \"votes: cluster\", and elsewhere clients without \"votes\"")
		case c.Text(settingBeside) != besideNone && w.Settings.Number(settingSentinels) == 0:
			return conflict(settingBeside, "no sentinels watch the nodes, and all clients reach %s: leave \"beside\" out", firstMaster)
		case r.on != theOne:
			other, otherOn = name, r.on
		}
		for _, rule := range append(by.rules(), countless, direct) {
			if rule.broken(r, c) {
				return conflict(rule.setting, "%s %s", r.name, rule.text)
			}
		}
		if inNoJVM := java.CheckOther(name, r.name, by.peer(), c.Values, java.Collector, java.Ahead); inNoJVM != nil {
			return inNoJVM
		}
		if want := c.Number(settingWait); want > replicas {
			return conflict(settingWait, "it waits for %d replicas, and Redis has %d: want \"replicas: %[1]d\"", want, replicas)
		}
	}
	return nil
}
