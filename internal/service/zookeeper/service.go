// Package zookeeper is the lock service ZooKeeper: real members, the locks that people build
// on its nodes and sessions, and an account of tenures by what the members tell of those
// nodes. The recipes are in recipe.go, a fault has a file of its own.
package zookeeper

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/zookeeper/watch"
	"github.com/fencelab/fencelab/internal/service/zookeeper/zkproc"
	"github.com/fencelab/fencelab/pkg/fence"
)

// Service is ZooKeeper. Members may elect a leader anew, which gives each session its whole
// time once more.
func Service() *service.Service {
	return &service.Service{
		Service: scenario.Service{
			Name: Name, About: "The lock service.",
			World: worldSettings, Client: clientSettings,
			Words: []string{service.Leader, service.MemberObserver},
			Nodes: nodes.Name + "[0-9]+", Halfway: true, Leases: true, Renews: true,
			Check: check, Clash: service.ClashWithin("its node would stand in the queue of %[2]q"), Own: nodes.Own("members of ZooKeeper", "single members of ZooKeeper"),
		},
		Faults: faults,

		Found: zkproc.Found, Whole: zkproc.Libraries.Whole, Get: zkproc.Libraries.Get,
		Where: whereIs, At: at,
		Command: zkproc.Command, NodesOf: nodesOf, Leader: nodes.Leader, Start: start, Launch: launch, Join: join, Reach: reach,

		Dial: Dial, DefaultEndpoints: []string{"127.0.0.1:2181"},
		Peer: func(client setting.Values) string { return service.RecipeOf(recipes, client).peer },
		Shows: func(client setting.Values) string {
			return map[string]string{tokenCzxid: history.ShowsGrant, tokenSequence: history.ShowsAny}[client.Text(setting.Token)]
		},
		Bounds:   nodes.Bounds,
		Model:    inModel,
		Position: func(ctx context.Context, s service.Servers) (fence.Token, error) { return s.(*servers).position(ctx) },
	}
}

var faults = slices.Concat(nodes.LeaderFaults(), []*service.Fault{nodes.KillLeader()}, nodes.MemberFaults(), []*service.Fault{awaitRemoval, countRequests, isolateObserver})

const whereIs = "HOST:PORT,… of members that are there already"

func at(where string) (*service.Service, []string, error) {
	endpoints := strings.Split(where, ",")
	for _, e := range endpoints {
		if !service.IsAddress(e) {
			return nil, nil, fmt.Errorf("%q: want %s", e, whereIs)
		}
	}
	return Service(), endpoints, nil
}

func check(w scenario.World, clients map[string]scenario.Client) *scenario.Conflict {
	for _, name := range slices.Sorted(maps.Keys(clients)) {
		c := clients[name]
		by := service.RecipeOf(recipes, c.Values)
		inNoJVM := java.CheckOther(name, by.name, by.peer, c.Values, java.Collector, java.Ahead)
		switch {
		case by.peer != "" && (c.Text(setting.Token) != tokenCzxid || slices.Contains(asks, c.Text(setting.Look))):
			return &scenario.Conflict{Client: name, Setting: service.By, Text: by.name + " is a library in a process of its own, which asks ZooKeeper nothing for a look (first, synced, read-only), and nothing else than the default of \"token\""}
		case (by.peer != "" || by.own) && c.Number(settingLost) != wholeSession:
			return &scenario.Conflict{Client: name, Setting: settingLost, Text: by.name + " has no such setting: leave it out"}
		case inNoJVM != nil:
			return inNoJVM
		case c.Text(service.SettingMember) == service.MemberFollower && w.Settings.Number(nodes.Setting) < 3:
			return &scenario.Conflict{Client: name, Setting: service.SettingMember, Text: "ZooKeeper has one member, and so no follower: it needs \"members: 3\""}
		case c.Text(service.SettingMember) == service.MemberObserver && !w.Settings.Flag(settingObserver):
			return &scenario.Conflict{Client: name, Setting: service.SettingMember, Text: "ZooKeeper " + lacksObserver}
		case c.Time(setting.TTL) > longestSession:
			return &scenario.Conflict{Client: name, Setting: setting.TTL, Text: fmt.Sprintf("ZooKeeper grants sessions of %v at most here", longestSession)}
		}
	}
	return nil
}

// asks are the looks that ask ZooKeeper.
var asks = []string{lookFirst, lookSynced, lookReadOnly}

const lacksObserver = "has no observer: it needs \"observer: true\""

// longestSession is what the members grant that the lab starts.
const longestSession = time.Minute

// reach asks those that are there already. A member that does not tell which transaction an event is
// of is of no use: it is older than 3.9.
func reach(ctx context.Context, endpoints []string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, service.ReachDeadline, fmt.Errorf("no answer after %v", service.ReachDeadline))
	defer cancel()
	for _, e := range endpoints {
		if err := probe(ctx, e); err != nil {
			return fmt.Errorf("%s at %s: %w", Name, e, err)
		}
	}
	return nil
}

// probe has a member tell of a node that is there for a moment.
func probe(ctx context.Context, addr string) error {
	node := "/fencelab-" + rand.Text()
	told := make(chan watch.Event, 2)
	stream, err := watch.Follow(ctx, addr, []string{node}, func(e watch.Event) { told <- e })
	if err != nil {
		return err
	}
	defer stream.Close()
	l, err := connect([]string{addr}, longestSession, longestSession, net.DialTimeout)
	if err != nil {
		return err
	}
	defer l.end()
	_, err = call(ctx, func() (string, error) { return l.Create(node, nil, zk.FlagEphemeral, anybody) }, nil)
	if err != nil {
		return err
	}
	if _, err := stream.Position(ctx); err != nil {
		return err
	}
	select {
	case e := <-told:
		if e.Zxid <= 0 {
			return errors.New("it does not tell of which transaction an event is: it needs ZooKeeper 3.9 or newer")
		}
		return nil
	default:
		return errors.New("it does not tell of what happens to its nodes")
	}
}
