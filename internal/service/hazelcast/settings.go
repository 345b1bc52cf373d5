package hazelcast

import (
	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
)

// The settings of its members.
const (
	settingMembers = "members"
	settingSession = "session"
)

var worldSettings = []setting.Setting{
	{Name: settingMembers, Kind: setting.Number, Default: "3", Of: []string{"3", "5"}, About: "How many members it has. All of them are of its CP subsystem, which keeps nothing on disk."},
	{Name: settingSession, Kind: setting.Time, Default: "5s", Pattern: `^([2-9]|[1-9][0-9]+)s$`, Want: "a duration in whole seconds from 2s", About: "After which time without a heartbeat the session of a client ends. The members look for such sessions every second. Each client's ttl must say the same."},
}

var clientSettings = []setting.Setting{
	service.ByRecipe(recipes, &fenced),
	{Name: setting.Look, Default: setting.LookBegin, Of: []string{setting.LookBegin, setting.LookNothing, setting.LookSession},
		About: "How it looks whether it holds the lock before it writes. begin: as session where it begins a write, else not at all. nothing: never. session: at what Hazelcast said when it last asked whether the lock is held, every third of the TTL."},
	java.Collector, java.Ahead,
}
