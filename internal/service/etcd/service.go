// Package etcd is the lock service that the lab began with: members that are a
// process each, locks by keys in the order of their create revisions, leases.
package etcd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/version"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdcmd"
	"github.com/fencelab/fencelab/pkg/fence"
)

const Name = "etcd"

func Service() *service.Service {
	return &service.Service{
		Service: scenario.Service{
			Name: Name, About: "The lock service.",
			World: worldSettings, Client: clientSettings,
			Words: []string{service.Leader, sessionOwn, sessionKept},
			Nodes: nodes.Name + "[0-9]+", Leases: true, Renews: true, Check: check, Clash: clash, Own: nodes.Own("etcd members", "single members of etcd"),
		},
		Faults: faults,

		Found: func() (where, bring string) { return "embedded, etcd " + version.Version, "" },
		Where: "HOST:PORT,… of members that are there already",
		At: func(where string) (*service.Service, []string, error) {
			return Service(), strings.Split(where, ","), nil // Reach looks at them
		},
		Command: etcdcmd.Command,
		NodesOf: nodes.NodesOf, Leader: nodes.Leader, Start: start, Join: join, Reach: reach,

		Dial: Dial, DefaultEndpoints: []string{"127.0.0.1:2379", "127.0.0.1:22379", "127.0.0.1:32379"},
		Peer:  func(client setting.Values) string { return service.RecipeOf(recipes, client).peer },
		Told:  told,
		Shows: func(client setting.Values) string { return shows[client.Text(setting.Token)] },
		Slot:  slotOf, Bounds: bounds, Model: inModel,
		IssuerArgs: func(s service.Servers) []string {
			return []string{"--issuer", strings.Join(s.(*servers).endpoints, ",")}
		},
		Position: func(ctx context.Context, s service.Servers) (fence.Token, error) { return s.(*servers).position(ctx) },
	}
}

// shows is what a client shows by its setting.
var shows = map[string]string{
	tokenRevision: history.ShowsGrant, tokenHeader: history.ShowsLater, tokenLease: history.ShowsAny, setting.TokenMax: history.ShowsMax, setting.TokenNone: history.ShowsNone,
}

// told are a client's settings. A session that another client shares is of package
// concurrency: no other key than the session's is there to be shared.
func told(client string, all map[string]scenario.Client) setting.Values {
	told := maps.Clone(all[client].Values)
	if _, shares := all[told.Text(setting.Session)]; shares {
		told[setting.Session] = sessionOwn
	}
	for _, other := range all {
		if other.Text(setting.Session) == client {
			told[setting.Session] = sessionKept
		}
	}
	return told
}

// slotOf is the key in the queue, which a client that keeps its session uses for each of its tenures.
func slotOf(tenure string) string {
	key, _, _ := strings.Cut(tenure, "@")
	return key
}

// The settings of its servers.
const (
	settingRestore = "restore"

	restorePlain  = "plain"
	restoreBumped = "bumped"
)

var worldSettings = []setting.Setting{
	service.SettingMembers,
	{Name: settingRestore, Default: restorePlain, Of: []string{restorePlain, restoreBumped}, About: "How \"restore etcd\" restores etcd. plain: revisions go back to the snapshot's. bumped: revisions go on, by etcdutl's --bump-revision and --mark-compacted."},
}

var faults = slices.Concat(nodes.LeaderFaults(), nodes.MemberFaults(service.NodeRule{
	Fact: memberIsolated, Is: true, Words: "%s is isolated, and serves only with the others: it needs a step \"gcsim: heal %s\" before",
}), []*service.Fault{isolateLeader, healLeader, &isolateMember, &healMember, revoke, save, restore})

func check(w scenario.World, clients map[string]scenario.Client) *scenario.Conflict {
	for _, name := range slices.Sorted(maps.Keys(clients)) {
		if c := checkSession(name, clients); c != nil {
			return c
		}
		if c := checkRecipe(name, clients[name].Values); c != nil {
			return c
		}
		if s, why := unfit(clients[name].Values); s != "" {
			return &scenario.Conflict{Client: name, Setting: s, Text: why}
		}
		if clients[name].Text(service.SettingMember) == service.MemberFollower && w.Settings.Number(nodes.Setting) < 3 {
			return &scenario.Conflict{Client: name, Setting: service.SettingMember, Text: "etcd has one member, which leads, and so no follower: it needs \"members: 3\""}
		}
	}
	return nil
}

// The keys of etcd's lock /a stand below /a/, and so do those of a lock /a/b: its holder would stand
// in the queue of /a.
var clash = service.ClashWithin("etcd would take its holder for one that waits for %[2]q")

// checkSession looks whether there is a session that a client can share.
func checkSession(name string, clients map[string]scenario.Client) *scenario.Conflict {
	ownOrKept := []string{sessionOwn, sessionKept}
	session := clients[name].Text(setting.Session)
	if slices.Contains(ownOrKept, session) {
		return nil
	}
	wrong := &scenario.Conflict{Client: name, Setting: setting.Session}
	owner, known := clients[session]
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(clients)), func(other string) bool { return other == name })
	switch {
	case session == name:
		wrong.Text = name + " cannot share its own session: want own or kept, or another client"
	case !known:
		wrong.Text = fmt.Sprintf("\"session\" cannot be %s%s", session, scenario.Hint(session, append(ownOrKept, others...)))
	case !slices.Contains(ownOrKept, owner.Text(setting.Session)):
		wrong.Text = fmt.Sprintf("%s has no session of its own to share: it shares that of %s", session, owner.Text(setting.Session))
	case owner.Text(setting.Mode) == setting.ModeShared:
		wrong.Text = fmt.Sprintf("%s has no session to share: its mode is shared, and it keeps none", session)
	case service.RecipeOf(recipes, owner.Values).peer != "":
		wrong.Text = fmt.Sprintf("%s has no session to share: it is a library in a process of its own", session)
	default:
		return nil
	}
	return wrong
}

// bounds has none of a client that shares another's session: that one renews its lease. Etcd
// looks twice a second for leases that are over, which service.Slack has room for.
func bounds(world setting.Values, clients map[string]scenario.Client) (bounds map[string]time.Duration, handover time.Duration) {
	bounds, handover = nodes.Bounds(world, clients)
	maps.DeleteFunc(bounds, func(name string, _ time.Duration) bool {
		_, shares := clients[clients[name].Text(setting.Session)]
		return shares
	})
	return bounds, handover
}
