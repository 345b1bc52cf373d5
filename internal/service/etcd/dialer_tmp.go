package etcd

import (
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/setting"
)

// Dialer ...
type Dialer struct{}

func (Dialer) Name() string { return "etcd" }
func (Dialer) ClientSettings() []setting.Setting {
	return []setting.Setting{
		{Name: "token", Default: "revision", Of: []string{"revision", "header", "lease", "max"}, About: "What it shows to the storage. revision: the create revision of its lock key. header: the revision at which etcd answered that the lock is its. lease: its lease ID, which is not ordered. max: 2^63-1, with or without a lock."},
		{Name: settingMember, Default: "any", Of: []string{"any", "highest", "lowest", "leader", "follower"}, About: "Which of etcd's members it talks to. highest, lowest: the one whose leases have the highest, the lowest IDs. leader: the one that leads when the story begins. follower: one that does not."},
		{Name: "session", Default: "own", Pattern: `^[a-z][a-z0-9-]*$`, Want: "own, kept or the name of a client", About: "What its locks stand on. own: each tenure has a key of its own. kept: one session, and so one key, for all its tenures. Or the name of the client whose session it shares, and which keeps it."},
		{Name: "look", Default: "begin", Of: []string{"begin", "nothing", "session", "is-owner", "first"}, About: "How it looks whether it holds the lock before it writes. begin: at its session where it begins a write, else not at all. nothing: never. session: it asks its session, which may not know yet. is-owner: it asks etcd by Mutex.IsOwner whether its key is there. first: it asks etcd whether its key is the first in the queue."},
	}
}
func (Dialer) DefaultEndpoints() []string                   { return nil }
func (Dialer) Dial(service.Options) (service.Client, error) { return nil, nil }

const (
	sessionOwn     = "own"
	sessionKept    = "kept"
	settingMember  = "member"
	memberAny      = "any"
	memberHighest  = "highest"
	memberLeader   = "leader"
	memberFollower = "follower"
)
