package nats

import (
	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/nats/natsproc"
)

// recipe is a way to take a lock by a key of a bucket (JetStream KeyValue). Its code is in the program.
type recipe struct {
	name, about string

	renews   model.Renewal
	releases model.Releases
}

var recipes = []*recipe{&renewed, &updated, &once, &deleted, &unleased}

var (
	renewed = recipe{name: "create-ttl",
		about: "Create with a TTL for the key, which fails if the key is there. The holder writes the key anew every third of the TTL, with another TTL and if its last revision is the holder's own. The unlock is a Delete with the last revision. A waiter asks again every 100 ms."}
	updated = recipe{name: "create-ttl-update", renews: model.Stays,
		about: "Likewise, but the holder renews by Update, which writes the key without a TTL."}
	once     = recipe{name: "create-ttl-once", renews: model.RenewsNever, about: "As create-ttl, and nothing renews the key."}
	deleted  = recipe{name: "create-ttl-delete", renews: model.RenewsNever, releases: model.ReleasesAny, about: "As create-ttl-once, and the unlock is a Delete without a revision."}
	unleased = recipe{name: "create", renews: model.Stays, about: "Create without a TTL, and Delete with the last revision."}
)

func (r *recipe) Says() (name, about string) { return r.name, r.about }

const (
	settingBucket = "bucket"
	lookOwner     = "owner"
)

var worldSettings = []setting.Setting{
	{Name: service.SettingMembers.Name, Kind: setting.Number, Default: "1", Of: service.SettingMembers.Of, About: "How many members it has. Each has a copy of the bucket."},
	{Name: settingBucket, Default: natsproc.BucketFile, Of: []string{natsproc.BucketFile, natsproc.BucketMemory},
		About: "Where the members keep the bucket of the locks. file: in files, which they do not sync at once (sync_interval is 2 minutes). memory: in memory."},
}

var clientSettings = []setting.Setting{
	service.ByRecipe(recipes, &renewed),
	{Name: service.SettingMember, Default: service.MemberAny, Of: []string{service.MemberAny, service.MemberLeader, service.MemberFollower},
		About: "The member of NATS that it talks to. any: it knows all. leader, follower: one that leads the bucket, or does not lead, when the story begins; a follower needs three members."},
	setting.LookOf("session: at what it was told of its key. owner: it asks NATS: it renews the key, if its recipe does, and else reads whose the key is.", lookOwner),
}
