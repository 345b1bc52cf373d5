package s3

import (
	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
)

// recipe is a way to take a lock by an object. Its code is in the program.
type recipe struct {
	name, about string

	renews   model.Renewal
	releases model.Releases
	forgets  bool // the unlock deletes the token, too
}

var recipes = []*recipe{&leased, &watched, &overwritten, &deleted, &deletedAny, &created}

var (
	leased = recipe{name: "lease",
		about: "The object names the holder, a token and the end of the lease. Who finds no object creates it (If-None-Match: *). If the object says that the lock is free, or its lease is over by the client's own clock, the client writes it with the next token. That is done if the ETag is the one that was read (If-Match). The holder renews the lease in the same way every third of the TTL, unless it is over. The unlock writes in the same way that the lock is free: the object stays, with the token. A waiter asks again every 100 ms."}
	watched = recipe{name: "lease-watched",
		about: "As lease, but the object says how long the lease lasts and how often it was renewed. A waiter takes the lock over when it has seen the same ETag for so long."}
	overwritten = recipe{name: "lease-overwrite", renews: model.Retakes,
		about: "As lease, but a renewal is a PUT without a condition."}
	deleted = recipe{name: "lease-delete", forgets: true,
		about: "As lease, but the unlock is a DELETE with If-Match. The token begins again at 1."}
	deletedAny = recipe{name: "lease-delete-any", releases: model.ReleasesAny, forgets: true,
		about: "As lease-delete, but the unlock is a DELETE without a condition."}
	created = recipe{name: "create", renews: model.Stays,
		about: "The object names the holder, and has no lease and no token. Who finds none creates it (If-None-Match: *). The unlock is a DELETE with If-Match."}
)

func (r *recipe) Says() (name, about string) { return r.name, r.about }

// leases reports whether the lock has a lease.
func (r *recipe) leases() bool { return r.renews != model.Stays }

var clientSettings = []setting.Setting{
	service.ByRecipe(recipes, &leased),
	{Name: setting.Ahead, Kind: setting.Time, Default: "0s", Pattern: `^(0|[1-9][0-9]*)(ms|s|m)$`, About: "How far its clock is ahead of the others."},
	setting.LookOf("session: at what it was told of its object. owner: it asks S3: it renews the lease, if its recipe has one, and else reads whose the object is.", lookOwner),
}

const lookOwner = "owner"
