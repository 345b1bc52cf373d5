package etcd

import "github.com/fencelab/fencelab/internal/setting"

// Values of settings that are etcd's own.
const (
	tokenRevision = "revision" // the create revision of the lock's key
	tokenHeader   = "header"   // the revision at which etcd answered that the lock is granted
	tokenLease    = "lease"    // the lease's ID

	sessionOwn  = "own"  // each tenure has a key of its own
	sessionKept = "kept" // one session, and so one key, is for all tenures

	settingMember  = "member"
	memberAny      = "any"     // it knows them all
	memberHighest  = "highest" // the one whose leases have the highest IDs
	memberLowest   = "lowest"
	memberLeader   = "leader"   // the one that leads when the story begins
	memberFollower = "follower" // one that does not

	lookIsOwner = "is-owner"
	lookFirst   = "first"
)

var clientSettings = []setting.Setting{
	{
		Name: setting.Token, Default: tokenRevision, Of: []string{tokenRevision, tokenHeader, tokenLease, setting.TokenMax},
		About: "What it shows to the storage. revision: the create revision of its lock key. header: the revision at which etcd answered that the lock is its. lease: its lease ID, which is not ordered. max: 2^63-1, with or without a lock.",
	},
	{
		Name: settingMember, Default: memberAny, Of: []string{memberAny, memberHighest, memberLowest, memberLeader, memberFollower},
		About: "Which of etcd's members it talks to. highest, lowest: the one whose leases have the highest, the lowest IDs. leader: the one that leads when the story begins. follower: one that does not.",
	},
	{
		Name: setting.Session, Default: sessionOwn, Pattern: `^[a-z][a-z0-9-]*$`, Want: "own, kept or the name of a client",
		About: "What its locks stand on. own: each tenure has a key of its own. kept: one session, and so one key, for all its tenures. Or the name of the client whose session it shares, and which keeps it.",
	},
	{
		Name: setting.Look, Default: setting.LookBegin, Of: []string{setting.LookBegin, setting.LookNothing, setting.LookSession, lookIsOwner, lookFirst},
		About: "How it looks whether it holds the lock before it writes. begin: at its session where it begins a write, else not at all. nothing: never. session: it asks its session, which may not know yet. is-owner: it asks etcd by Mutex.IsOwner whether its key is there. first: it asks etcd whether its key is the first in the queue.",
	},
}
