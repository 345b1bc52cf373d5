package zookeeper

import (
	"github.com/fencelab/fencelab/internal/peers"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/setting"
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
		About: "Which number it shows as its token. czxid: that of the transaction which created its node. sequence: the number in the name of its node, and one more, as 0 is no token."},
	{Name: settingSuspended, Default: suspendedObeyed, Of: []string{suspendedObeyed, suspendedIgnored},
		About: "What it makes of a connection that broke (Curator's SUSPENDED). obeyed: its tenures are over. ignored: they go on until its session has expired, or must have by its own clock (Curator's LOST), with zklock until it may have."},
	{Name: service.SettingMember, Default: service.MemberAny, Of: []string{service.MemberAny, service.MemberLeader, service.MemberFollower},
		About: "The member of ZooKeeper that it talks to. any: it knows all. leader: the one that leads when the story begins. follower: one that does not lead then."},
	{Name: setting.Look, Default: setting.LookBegin, Of: []string{setting.LookBegin, setting.LookNothing, setting.LookSession, lookAcquired, lookFirst},
		About: "How it looks whether it holds the lock before it writes. begin: as session where it begins a write, else not at all. nothing: never. session: at what it was told of its connection and its session. acquired: at a flag of its process, which says that it has taken the lock and not released it (Curator's isAcquiredInThisProcess). first: it asks ZooKeeper whether its node is the first."},
	peers.Collector, peers.Ahead,
}
