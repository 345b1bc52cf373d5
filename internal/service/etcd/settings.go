package etcd

import (
	"github.com/fencelab/fencelab/internal/peers"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/setting"
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
)

var clientSettings = []setting.Setting{
	service.ByRecipe(recipes, &inGo),
	keepAlive, keepAliveTimeout,
	{
		Name: setting.Token, Default: tokenRevision, Of: []string{tokenRevision, tokenHeader, tokenLease, setting.TokenMax},
		About: "What it shows to the storage. revision: the create revision of its lock key. header: the revision at which etcd answered that the lock is its. lease: its lease ID, which is not ordered. max: 2^63-1, with or without a lock.",
	},
	{
		Name: service.SettingMember, Default: service.MemberAny, Of: []string{service.MemberAny, memberHighest, memberLowest, service.MemberLeader, service.MemberFollower},
		About: "Which of etcd's members it talks to. highest, lowest: the one whose leases have the highest, the lowest IDs. leader: the one that leads when the story begins. follower: one that does not.",
	},
	{
		Name: setting.Session, Default: sessionOwn, Pattern: `^[a-z][a-z0-9-]*$`, Want: "own, kept or the name of a client",
		About: "What its locks stand on. own: each tenure has a key of its own. kept: one session, and so one key, for all its tenures. Or the name of the client whose session it shares, and which keeps it.",
	},
	{
		Name: setting.Mode, Default: setting.ModeExclusive, Of: []string{setting.ModeExclusive, setting.ModeShared},
		About: "How it takes its locks. exclusive: alone, as a writer. shared: together with others that share them, as a reader.",
	},
	{
		Name: setting.Claims, Default: setting.ClaimsByMode, Of: []string{setting.ClaimsByMode, setting.ClaimsExclusive},
		About: "What its claims say of how it holds the lock. by-mode: that it shares it, if it does. exclusive: nothing, and so its token counts as that of a writer.",
	},
	{
		Name: setting.Look, Default: setting.LookBegin, Of: []string{setting.LookBegin, setting.LookNothing, setting.LookSession, lookIsOwner, lookFirst},
		About: "How it looks whether it holds the lock before it writes. begin: at its session where it begins a write, else not at all. nothing: never. session: it asks its session, which may not know yet. is-owner: it asks etcd by Mutex.IsOwner whether its key is there. first: it asks etcd whether its key is the first in the queue.",
	},
	peers.Collector, peers.Ahead,
}

// A client can ping a member while something waits for the member's answer, and break the
// connection to one that is silent. The renewals of a lease always wait for an answer. Type
// members looks after silent members as well, but not for the sake of renewals.
const (
	settingKeepAlive        = "keepalive"
	settingKeepAliveTimeout = "keepalive-timeout"
)

var keepAlive = setting.Setting{
	Name: settingKeepAlive, Kind: setting.Time, Default: "0s",
	// gRPC raises what is less than 10 s to 10 s. Members of etcd refuse only pings that
	// come more often than every 5 s.
	Pattern: `^(0s|[1-9][0-9]+s|[1-9][0-9]*m)$`, Want: "0s, or a duration from 10s on, as gRPC pings no more often",
	About: "After how long without a word from a member it pings the member while it waits for an answer, 10s or more (DialKeepAliveTime). 0s: never.",
}

var keepAliveTimeout = setting.Setting{
	Name: settingKeepAliveTimeout, Kind: setting.Time, Default: "20s", Pattern: `^[1-9][0-9]*(ms|s|m)$`,
	About: "For how long it waits for the answer to a ping before it breaks the connection (DialKeepAliveTimeout).",
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
