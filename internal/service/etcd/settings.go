package etcd

import (
	"fmt"

	"github.com/fencelab/fencelab/internal/clients/golang"
	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/clients/nodejs"
	"github.com/fencelab/fencelab/internal/clients/python"
	"github.com/fencelab/fencelab/internal/clients/rust"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
)

// Values of settings that are etcd's own.
const (
	tokenRevision = "revision" // the create revision of the lock's key
	tokenHeader   = "header"   // the revision at which etcd answered that the lock is granted
	tokenLease    = "lease"    // the lease's ID

	sessionOwn  = "own"  // each tenure has a key of its own
	sessionKept = "kept" // one session, and so one key, is for all tenures

	memberHighest = "highest" // the member whose leases have the highest IDs
	memberLowest  = "lowest"

	lookIsOwner = "is-owner"
	lookFirst   = "first"

	// A client can ping a member while something waits for the member's answer, and break the
	// connection to one that is silent. The renewals of a lease always wait for an answer. Type
	// members looks after silent members as well, but not for the sake of renewals.
	settingKeepAlive        = "keepalive"
	settingKeepAliveTimeout = "keepalive-timeout"
)

var clientSettings = []setting.Setting{
	service.ByRecipe(recipes, &inGo),
	{Name: settingKeepAlive, Kind: setting.Time, Default: "0s",
		// gRPC raises what is less than 10 s to 10 s. Members of etcd refuse only pings that
		// come more often than every 5 s.
		Pattern: `^(0s|[1-9][0-9]+s|[1-9][0-9]*m)$`, Want: "0s, or a duration from 10s on, as gRPC pings no more often",
		About: "How long a member of etcd may be silent before a client that waits for its answer pings it (DialKeepAliveTime): 10s or more, as gRPC pings no more often. 0s: no pings. Without pings the renewals of a lease stay with one member, however long that is silent."},
	{Name: settingKeepAliveTimeout, Kind: setting.Time, Default: "20s", Pattern: `^[1-9][0-9]*(ms|s|m)$`,
		About: "How long it waits for the answer to a ping (DialKeepAliveTimeout), before it goes on with another member that it knows."},
	{Name: setting.Token, Default: tokenRevision, Of: []string{tokenRevision, tokenHeader, tokenLease, setting.TokenMax, setting.TokenNone},
		About: "Its token for the storage. revision: the create revision of its lock key. header: the revision of etcd's answer that the client has the lock. lease: the ID of its lease, which is not ordered. max: 2^63-1, with or without a lock. none: it shows no token."},
	{Name: service.SettingMember, Default: service.MemberAny, Of: []string{service.MemberAny, memberHighest, memberLowest, service.MemberLeader, service.MemberFollower},
		About: "The member of etcd that it talks to. any: it knows all members, and leaves one that has not answered for a second, but perhaps not with the renewals of its lease, as in docs/13-leader-paused.md. highest, lowest: the member whose leases have the highest or lowest IDs. leader, follower: one that leads, or does not lead, when the story begins; a follower needs three members or more."},
	{Name: setting.Session, Default: sessionOwn, Pattern: `^[a-z][a-z0-9-]*$`, Want: "own, kept or the name of a client",
		About: "On which session its locks stand. own: each tenure has a key of its own, as with etcdlock. Locks held at the same time stand on one lease, and are lost together; but a lock that an exclusive client queued for, and each lock with look: is-owner, has a lease of its own. kept: one session of package concurrency, and so one key, for all its tenures. Or the name of a client with session: own or session: kept, whose session it shares; that client has asked for its lock before, and keeps its session."},
	{Name: setting.Mode, Default: setting.ModeExclusive, Of: []string{setting.ModeExclusive, setting.ModeShared},
		About: "How it takes its locks. exclusive: alone, as a writer. shared: together with other readers; needs session: own, a look other than is-owner and first, and with numbered: true also claims: exclusive."},
	{Name: setting.Claims, Default: setting.ClaimsByMode, Of: []string{setting.ClaimsByMode, setting.ClaimsExclusive},
		About: "Which mode its claims say. by-mode: the lock's. exclusive: always exclusive, and its token counts as a writer's."},
	setting.LookOf("session: it asks its session, which may not know of a loss yet. is-owner: it asks etcd by Mutex.IsOwner whether its key is there. first: it asks etcd whether its key is the first in the queue.", lookIsOwner, lookFirst),
	java.Collector, java.Ahead,
}

// unfit names a setting of a client that does not go together with how it takes its
// locks, and says why; name is "" where there is none.
func unfit(client setting.Values) (name, why string) {
	if client.Text(setting.Mode) == setting.ModeExclusive {
		return "", ""
	}
	look := client.Text(setting.Look)
	switch {
	case client.Text(setting.Session) != sessionOwn:
		return setting.Session, `a client whose mode is shared keeps no session, and uses no other's: it needs "session: own"`
	case look == lookIsOwner, look == lookFirst:
		return setting.Look, "a client whose mode is shared need not be the first in the queue to hold the lock: it needs another look, like session"
	case client.Flag(setting.Numbered) && client.Text(setting.Claims) == setting.ClaimsByMode:
		return setting.Numbered, `shared claims carry no sequence numbers: a client whose mode is shared needs "numbered: false"`
	}
	return "", ""
}

// recipe is a library by which a client takes its locks.
type recipe struct {
	name, about string
	peer        string // its program, as in java/jetcd; "": this one
}

var recipes = []*recipe{&inGo, &jetcd, &etcd3, &etcd3InNode, &election, &etcdClient}

var (
	inGo = recipe{name: "etcdlock",
		about: "Package etcdlock, or package concurrency as it is if session and look need that."}
	jetcd = recipe{name: java.Prefix + "jetcd", peer: java.Prefix + "jetcd",
		about: "jetcd itself, 0.8.6: a client in Java, by Lock.lock, with a lease for each tenure, which Lease.keepAlive renews. The create revision is read from the lock's key after the grant. Its unlock says nothing of a lost lock. It has no look: is-owner, no look: first and no token: max, and needs the defaults of session, mode and keepalive."}
	etcd3 = recipe{name: python.Prefix + "etcd3", peer: python.Prefix + "etcd3",
		about: "The Lock of etcd3 itself, 0.12.0: a client in Python, with a lease of the TTL in whole seconds, which nothing renews. The create revision is read from the lock's key after the grant. A waiter fails at once with a TypeError. It lacks what java/jetcd lacks."}
	etcd3InNode = recipe{name: nodejs.Prefix + "etcd3", peer: nodejs.Prefix + "etcd3",
		about: "The Lock of etcd3 itself, 1.1.2: a client in JavaScript, with a lease of the TTL in whole seconds, which the library renews. Its release says nothing of a lost lock. The create revision is read from the lock's key after the grant. A waiter asks every 100 ms. It lacks what java/jetcd lacks."}
	election = recipe{name: golang.Prefix + "election", peer: golang.Prefix + "election",
		about: "The Election of package concurrency itself, 3.7.3, in a process of its own, with a session for each tenure. The token is its Rev, the create revision of its key. A trylock asks by Leader whether there is one, and then campaigns. It lacks what java/jetcd lacks."}
	etcdClient = recipe{name: rust.Prefix + "etcd-client", peer: rust.Prefix + "etcd-client",
		about: "The lock of etcd-client itself, 0.21.1: a client in Rust, by etcd's own lock service, with a lease of the TTL in whole seconds, which nothing renews. The create revision is read from the lock's key after the grant. A trylock asks before whether the queue is empty. Its unlock says nothing of a lost lock. It has no token: lease, and lacks what java/jetcd lacks."}
)

func (r *recipe) Says() (name, about string) { return r.name, r.about }

// checkRecipe finds what a client's recipe does not have.
func checkRecipe(name string, client setting.Values) *scenario.Conflict {
	by := service.RecipeOf(recipes, client)
	if inNoJVM := java.CheckOther(name, by.name, by.peer, client, java.Collector, java.Ahead); inNoJVM != nil || by.peer == "" {
		return inNoJVM
	}
	look := client.Text(setting.Look)
	if client.Text(setting.Session) != sessionOwn || client.Text(setting.Mode) != setting.ModeExclusive || client.Text(setting.Token) == setting.TokenMax ||
		look == lookIsOwner || look == lookFirst || client.Time(settingKeepAlive) > 0 {
		return &scenario.Conflict{Client: name, Setting: service.By, Text: fmt.Sprintf("%s is a library in a process of its own, which has no \"look: %s\", no \"look: %s\" and no \"token: %s\", and nothing else than the defaults of \"session\", \"mode\" and \"keepalive\"", by.name, lookIsOwner, lookFirst, setting.TokenMax)}
	}
	return nil
}
