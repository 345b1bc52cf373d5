package zookeeper

import (
	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
)

var worldSettings = []setting.Setting{service.SettingMembers}

// The settings of its clients.
const (
	tokenCzxid    = "czxid"
	tokenSequence = "sequence"

	lookAcquired = "acquired"
	lookFirst    = "first"

	settingSuspended = "suspended"
	suspendedObeyed  = "obeyed"
	suspendedIgnored = "ignored"
)

var clientSettings = []setting.Setting{
	service.ByRecipe(recipes, &sequential),
	{Name: setting.Token, Default: tokenCzxid, Of: []string{tokenCzxid, tokenSequence},
		About: "Which number it shows to the storage as its token. czxid: the number of the transaction that created its node. sequence: the number in the name of its node, and one more, as 0 is no token."},
	{Name: settingSuspended, Default: suspendedObeyed, Of: []string{suspendedObeyed, suspendedIgnored},
		About: "What it makes of a broken connection, which Curator calls SUSPENDED. obeyed: its tenures are over, and it deletes their nodes when it is connected again. ignored: its tenures go on until ZooKeeper says that the session has expired, or until the connection was gone for as long as a session lasts, which Curator by default calls LOST. For zklock, obeyed is its option Suspended; without it a tenure is over when the connection was gone for a quarter of the time that a session lasts."},
	{Name: service.SettingMember, Default: service.MemberAny, Of: []string{service.MemberAny, service.MemberLeader, service.MemberFollower},
		About: "The member of ZooKeeper that it talks to. any: it knows all members. leader: the member that leads when the story begins. follower: a member that does not lead then; needs three members or more."},
	{Name: setting.Look, Default: setting.LookBegin, Of: []string{setting.LookBegin, setting.LookNothing, setting.LookSession, lookAcquired, lookFirst},
		About: "How it looks whether it holds the lock before it writes. begin: as session where it begins a write, else not at all. nothing: never. session: at what it was told of its connection and its session. acquired: it asks its own process whether it has taken the lock and not released it, as Curator's isAcquiredInThisProcess does. first: it asks ZooKeeper whether its node is the first."},
	java.Collector, java.Ahead,
}
