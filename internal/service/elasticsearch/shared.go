package elasticsearch

import (
	"context"
	"net/http"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/pkg/fence"
)

// The guide's lock of readers and writers: the document says of which kind its holders are,
// and how many readers there are. It does not say who they are.
var (
	shared = recipe{
		name: "shared", shows: history.ShowsNone, mode: fence.Shared,
		about: "The lock of a reader: the document has the lock_type shared and a lock_count, to which a script adds one; it refuses where the lock_type is exclusive. To release the lock a script takes one off, and deletes the document at 0. No lease.",
		take:  func(ctx context.Context, a *attempt) (bool, error) { return a.share(ctx, a.lock) },
		free:  func(ctx context.Context, a *attempt) (bool, error) { return a.unshare(ctx, a.lock) },
	}
	exclusive = recipe{
		name: "exclusive", shows: history.ShowsNone,
		about: "The lock of a writer beside the readers of shared: the document is created, with the lock_type exclusive, and deleted to release the lock. No lease.",
		take: func(ctx context.Context, a *attempt) (bool, error) {
			return a.create(ctx, a.lock, writers)
		},
		free: deleteDocument,
	}
)

// What the document says while readers have the lock, or a writer.
const (
	typeShared    = "shared"
	typeExclusive = "exclusive"
)

var writers = content{LockType: typeExclusive}

// The scripts of readers, in Painless.
const (
	onlyShared = `if (ctx._source.lock_type != '` + typeShared + `') { throw new IllegalStateException('` + isAnothers + `') } `
	addOne     = onlyShared + `ctx._source.lock_count++`
	takeOneOff = onlyShared + `if (--ctx._source.lock_count == 0) { ctx.op = 'delete' }`
)

// share takes the lock of a document as a reader.
func (n *node) share(ctx context.Context, id string) (bool, error) {
	return n.update(ctx, id, values{
		"script": values{"lang": "painless", "source": addOne},
		"upsert": content{LockType: typeShared, LockCount: 1},
	})
}

// unshare releases the lock of a reader, whichever reader that is.
func (n *node) unshare(ctx context.Context, id string) (bool, error) {
	done, err := n.update(ctx, id, values{"script": values{"lang": "painless", "source": takeOneOff}})
	if refused(err, http.StatusNotFound) {
		return false, nil
	}
	return done, err
}
