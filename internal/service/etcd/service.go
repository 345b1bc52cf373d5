// Package etcd is the lock service that the lab began with: members that are a
// process each, locks by keys in the order of their create revisions, leases.
package etcd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/api/v3/version"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdcmd"
	"github.com/fencelab/fencelab/internal/setting"
)

// Service is etcd.
type Service struct{ Dialer }

var (
	_ service.Service = Service{}
	_ service.Bounded = Service{}
	_ service.Peered  = Service{}
)

// The settings of its servers.
const (
	settingMembers = "members"
	settingRestore = "restore"

	restorePlain  = "plain"
	restoreBumped = "bumped"
)

var worldSettings = []setting.Setting{
	{Name: settingMembers, Kind: setting.Number, Default: "1", Of: []string{"1", "3", "5"}, About: "How many members it has."},
	{Name: settingRestore, Default: restorePlain, Of: []string{restorePlain, restoreBumped}, About: "How \"restore etcd\" restores etcd. plain: revisions go back to the snapshot's. bumped: revisions go on, by etcdutl's --bump-revision and --mark-compacted."},
}

// Words implements service.Service.
func (s Service) Words() scenario.Service {
	return scenario.Service{
		Name: s.Name(), About: "The lock service.",
		World: worldSettings, Client: s.ClientSettings(),
		Words: []string{leaderName, sessionOwn, sessionKept},
		Nodes: memberNames, Issuer: true,
		Check: check, Clash: clash, Own: own,
	}
}

// Faults implements service.Service.
func (Service) Faults() []*service.Fault {
	return []*service.Fault{&pauseLeader, &resumeLeader, &pauseMember, &resumeMember, &killMember, &restartMember, &isolateLeader, &healLeader, &isolateMember, &healMember, &revoke, &save, &restore}
}

// Found implements service.Service.
func (Service) Found() (where, bring string) { return "embedded, etcd " + version.Version, "" }

// At implements service.Service.
func (s Service) At(where string) (service.Service, []string, error) {
	return s, strings.Split(where, ","), nil // Reach looks at them
}

// Where implements service.Service.
func (Service) Where() string { return "HOST:PORT,… of members that are there already" }

// Commands implements service.Service.
func (Service) Commands() []*cobra.Command { return []*cobra.Command{etcdcmd.Command()} }

// check finds settings that do not go together.
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
		if clients[name].Text(settingMember) == memberFollower && w.Settings.Number(settingMembers) < 3 {
			return &scenario.Conflict{Client: name, Setting: settingMember, Text: "etcd has one member, which leads, and so no follower: it needs \"members: 3\""}
		}
	}
	return nil
}

// clash refuses a lock within another. The keys of etcd's lock /a stand below
// /a/, and so do those of a lock /a/b: its holder would stand in the queue of /a.
func clash(lock, other string) string {
	in, out := lock, other
	if len(in) < len(out) {
		in, out = out, in
	}
	if out == in || !strings.HasPrefix(in+"/", out+"/") {
		return ""
	}
	return fmt.Sprintf(
		"the lock %q lies within %q, and etcd would take its holder for one that waits for %q: want names of which none goes on from another with a /", in, out, out)
}

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
		wrong.Text = fmt.Sprintf("%s has no session to share: it is a client in Java", session)
	default:
		return nil
	}
	return wrong
}

// Told implements service.Service. A session that another client shares is of package
// concurrency: no other key than the session's is there to be shared.
func (Service) Told(client string, all map[string]scenario.Client) setting.Values {
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

// own says why a variant needs an etcd of its own.
func own(world setting.Values, clients map[string]scenario.Client) (why []string) {
	if n := world.Number(settingMembers); n != 1 {
		why = append(why, fmt.Sprintf("wants %d etcd members", n))
	}
	for _, c := range clients {
		if c.Text(settingMember) != memberAny {
			return append(why, "has clients of single members of etcd")
		}
	}
	return why
}

// Shows implements service.Service.
func (Service) Shows(client setting.Values) string {
	return map[string]string{
		tokenRevision: history.ShowsGrant, tokenHeader: history.ShowsLater, tokenLease: history.ShowsAny, setting.TokenMax: history.ShowsMax,
	}[client.Text(setting.Token)]
}

// Slot implements service.Service: it is the key in the queue, which a client that
// keeps its session uses for each of its tenures.
func (Service) Slot(tenure string) string {
	key, _, _ := strings.Cut(tenure, "@")
	return key
}
