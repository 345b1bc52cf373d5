// Package hazelcast is the lock service Hazelcast: real members with a CP subsystem, clients in
// Java that take a FencedLock, and an account of tenures by what the members tell of the log
// that they apply.
package hazelcast

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/hazelcast/hzproc"
)

const Name = "hazelcast"

// Service is Hazelcast. Members and clients are programs of one project. The library takes each
// tenure on a thread of its own, and releases it there.
func Service() *service.Service {
	return &service.Service{
		Service: scenario.Service{
			Name: Name, About: "The lock service.", World: worldSettings, Client: clientSettings,
			Nodes: nodes.Name + "[0-9]+", Check: check, Clash: clash, Own: own,
		},
		Faults: append(signals, restartAll),

		Found: java.Found, Whole: java.Whole, Get: java.Get,
		Where:   "members that gcsim starts",
		At:      func(string) (*service.Service, []string, error) { return nil, nil, errOwn },
		Command: hzproc.Command, NodesOf: nodesOf, Start: start, Launch: launch, Join: join,
		Reach: func(context.Context, []string) error { return errOwn },

		NoClient: service.ErrOriginal(fenced.name),
		Peer:     func(setting.Values) string { return java.Prefix + java.Hazelcast },
		Shows:    func(setting.Values) string { return history.ShowsGrant },
		Bounds:   service.BoundsBy(lookEvery),
		// The members are one, and a holder can take its lock again.
		Model: func(_ *scenario.Variant, _ string, _ *model.Settings, c *model.Client) (lacks string) {
			c.Reenters = true
			return ""
		},
	}
}

var nodes = service.Nodes{Name: Name, Setting: settingMembers, One: "member of Hazelcast", Many: "members of Hazelcast"}

func nodesOf(world setting.Values) []history.Node {
	return service.NodesOf(Name, world.Number(settingMembers), "")
}

// errOwn is why a Hazelcast that is there already is of no use.
var errOwn = errors.New("a member of Hazelcast tells nobody outside of it who holds its locks, so gcsim starts members that do: leave the address out")

// check finds a client that counts on another session than the members give it.
func check(w scenario.World, clients map[string]scenario.Client) *scenario.Conflict {
	for _, name := range slices.Sorted(maps.Keys(clients)) {
		if c := clients[name]; c.Time(setting.TTL) != w.Settings.Time(service.SettingSession) {
			return &scenario.Conflict{Client: name, Setting: setting.TTL, Text: fmt.Sprintf("the members of Hazelcast choose for how long a session lasts, and not the client: want \"ttl: %s\", or another \"session\" below world", w.Settings.Text(service.SettingSession))}
		}
	}
	return nil
}

// clash refuses a lock in a CP group of its own beside another one: each group counts fences
// for itself, and here a tenure is known by its fence.
func clash(lock, other string) string {
	if lock == other || !strings.Contains(lock+other, "@") {
		return ""
	}
	return fmt.Sprintf("the locks %q and %q can be of two CP groups, each of which counts its fences for itself: want names without an @", lock, other)
}

func own(world setting.Values, _ map[string]scenario.Client) (why []string) {
	if n := world.Number(settingMembers); n != 3 {
		why = append(why, fmt.Sprintf("wants %d members of Hazelcast", n))
	}
	return why
}

// lookEvery is the time between two looks of the members for sessions that are over.
const lookEvery = time.Second

const settingMembers = "members"

var worldSettings = []setting.Setting{
	{Name: settingMembers, Kind: setting.Number, Default: "3", Of: []string{"3", "5"}, About: "How many members it has, all of the CP subsystem, which keeps nothing on disk."},
	{Name: service.SettingSession, Kind: setting.Time, Default: "5s", Pattern: `^([2-9]|[1-9][0-9]+)s$`, Want: "a duration in whole seconds from 2s", About: "After what time without a heartbeat the session of a client ends. The members look every second. Each client's ttl must say the same."},
}

var clientSettings = []setting.Setting{
	service.ByRecipe(recipes, &fenced),
	setting.LookOf("session: at Hazelcast's last answer; it asks every third of the TTL."),
	java.Collector, java.Ahead,
}

// recipe is a way to take a lock: a program in Java, as Hazelcast has no other client here.
type recipe struct{ name, about string }

var recipes = []*recipe{&fenced}

var fenced = recipe{
	name:  java.Prefix + "hazelcast",
	about: "The FencedLock of Hazelcast 5.4.0, by tryLockAndGetFence. Its token is the fence. Its holder can take it again, with the same fence.",
}

func (r *recipe) Says() (name, about string) { return r.name, r.about }

type servers struct {
	stage    service.Stage
	cluster  *hzproc.Cluster // nil: other runs use them as well
	accounts []string        // where the members tell
	members  []string        // where they serve
	account  *account
}

func start(ctx context.Context, stage service.Stage) (service.Servers, error) {
	cluster, err := hzproc.Start(ctx, stage.Group(), stage.Plan().World.Number(settingMembers), stage.Plan().World.Time(service.SettingSession))
	if err != nil {
		return nil, err
	}
	for _, m := range cluster.Members {
		service.Guard(stage, m.Process())
	}
	return &servers{stage: stage, cluster: cluster, accounts: cluster.Accounts()}, nil
}

// launch starts members for several runs. The endpoints are where the members tell of their locks,
// and of where they serve.
func launch(ctx context.Context, g *proc.Group, world setting.Values) (service.Launched, error) {
	cluster, err := hzproc.Start(ctx, g, world.Number(settingMembers), world.Time(service.SettingSession))
	if err != nil {
		return service.Launched{}, err
	}
	return service.Launched{Endpoints: cluster.Accounts(), Processes: proc.Processes(cluster.Members)}, nil
}

func join(stage service.Stage, endpoints []string) service.Servers {
	return &servers{stage: stage, accounts: endpoints}
}

// Observe returns when all members tell.
func (s *servers) Observe(ctx context.Context) error {
	s.account = newAccount(s.stage)
	for _, addr := range s.accounts {
		stream, err := listen(ctx, addr)
		if err != nil {
			return fmt.Errorf("observer: %w", err)
		}
		s.members = append(s.members, stream.member)
		s.stage.Go(func() { s.follow(ctx, addr, stream) })
	}
	return nil
}

func (s *servers) Endpoints(context.Context, setting.Values) ([]string, error) {
	return slices.Clone(s.members), nil
}

// Leave has nothing to do: what the run's clients held ends with their sessions.
func (s *servers) Leave(context.Context) {}

// restartAll has all members end at the same time, and start again.
var restartAll = service.NewFault(scenario.Form{
	Usage: "restart " + Name, Target: scenario.TheService, Own: "restarts Hazelcast",
	About: "Kills all members of Hazelcast (SIGKILL), and starts them again. They have kept nothing.",
	Check: func(s *scenario.Story, _ *scenario.ClientStory, _ scenario.Step) string {
		for i := range s.Variant.World.Settings.Number(settingMembers) {
			for _, fact := range []string{service.NodeDead, service.NodeStill} {
				s.Facts[fmt.Sprintf(fact, fmt.Sprint(Name, i+1))] = false
			}
		}
		return ""
	},
}, func(ctx context.Context, s *servers, story service.Story, _ scenario.Step) error {
	at := story.Now()
	gone, back := nodesOf(story.Plan().World), nodesOf(story.Plan().World)
	for i, m := range s.cluster.Members {
		gone[i].State = history.NodeDead
		if m.Runs() {
			story.Ends(m.Process())
		}
	}
	if err := proc.KillAll(s.cluster.Members); err != nil {
		return err
	}
	story.Remark(at, "all members of Hazelcast are killed", gone...)
	for _, m := range s.cluster.Members {
		err := story.Meanwhile(ctx, m.Name+" to start", func(ctx context.Context) error {
			s.account.forget()
			return m.Restart(ctx)
		})
		if err != nil {
			return err
		}
		service.Guard(story, m.Process())
	}
	err := story.Meanwhile(ctx, "Hazelcast to serve", func(ctx context.Context) error { return proc.AwaitAll(ctx, s.cluster.Members) })
	if err != nil {
		return err
	}
	story.Remark(story.Now(), "all members of Hazelcast are started again, and know nothing", back...)
	return nil
})

// signals kill a member, stop it and let it go on.
var signals = nodes.Faults(func(of service.Servers, name string) service.Subject {
	members := of.(*servers).cluster.Members
	m := members[slices.IndexFunc(members, func(m *hzproc.Member) bool { return m.Name == name })]
	return service.Subject{Controlled: m, Called: name + ", a member of Hazelcast,"}
}, nil)
