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
	"github.com/fencelab/fencelab/internal/history"
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

		Found: java.Found, Get: java.Get,
		Where:   "members that gcsim starts",
		At:      func(string) (*service.Service, []string, error) { return nil, nil, errOwn },
		Command: hzproc.Command, Start: start, Launch: launch, Join: join,
		Reach: func(context.Context, []string) error { return errOwn },

		NoClient: service.ErrInJava(fenced.name),
		Peer:     func(setting.Values) string { return java.Hazelcast },
		Shows:    func(setting.Values) string { return history.ShowsGrant },
		Bounds:   service.BoundsBy(lookEvery),
	}
}

var nodes = service.Nodes{Name: Name, Setting: settingMembers, One: "member of Hazelcast", Many: "members of Hazelcast"}

// errOwn is why a Hazelcast that is there already is of no use.
var errOwn = errors.New("a member of Hazelcast tells nobody outside of it who holds its locks, so gcsim starts members that do: leave the address out")

// check finds a client that counts on another session than the members give it.
func check(w scenario.World, clients map[string]scenario.Client) *scenario.Conflict {
	for _, name := range slices.Sorted(maps.Keys(clients)) {
		if c := clients[name]; c.Time(setting.TTL) != w.Settings.Time(settingSession) {
			return &scenario.Conflict{Client: name, Setting: setting.TTL, Text: fmt.Sprintf("the members of Hazelcast choose for how long a session lasts, and not the client: want \"ttl: %s\", or another \"session\" below world", w.Settings.Text(settingSession))}
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

// The settings of its members.
const (
	settingMembers = "members"
	settingSession = "session"
)

var worldSettings = []setting.Setting{
	{Name: settingMembers, Kind: setting.Number, Default: "3", Of: []string{"3", "5"}, About: "How many members it has, all of the CP subsystem, which keeps nothing on disk."},
	{Name: settingSession, Kind: setting.Time, Default: "5s", Pattern: `^([2-9]|[1-9][0-9]+)s$`, Want: "a duration in whole seconds from 2s", About: "After what time without a heartbeat the session of a client ends. The members look every second. Each client's ttl must say the same."},
}

var clientSettings = []setting.Setting{
	service.ByRecipe(recipes, &fenced),
	{Name: setting.Look, Default: setting.LookBegin, Of: []string{setting.LookBegin, setting.LookNothing, setting.LookSession},
		About: setting.LookAbout + "session: at Hazelcast's last answer; it asks every third of the TTL."},
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
