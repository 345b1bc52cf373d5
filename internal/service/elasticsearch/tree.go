package elasticsearch

import (
	"context"

	"github.com/fencelab/fencelab/internal/history"
)

// tree is the guide's lock of a path in a tree. Who has a directory for itself has all that is
// in it, as everybody else would have to share the directory.
var tree = recipe{
	name: "tree", shows: history.ShowsNone,
	about: "The lock is a path: the client takes the lock of shared on each parent, from the top, and then that of exclusive on the path itself. While it waits it keeps the parents that it has. It releases the path first, and then the parents from the longest. No lease.",
	take:  takeTree,
	free: func(ctx context.Context, a *attempt) (bool, error) {
		done, err := deleteDocument(ctx, a)
		if err != nil {
			return false, err
		}
		return done, unshareParents(ctx, a)
	},
	back: unshareParents,
}

func takeTree(ctx context.Context, a *attempt) (bool, error) {
	for parents := parentsOf(a.lock); a.shares < len(parents); a.shares++ {
		if taken, err := a.share(ctx, parents[a.shares]); !taken {
			return false, err
		}
	}
	return a.create(ctx, a.lock, writers)
}

func unshareParents(ctx context.Context, a *attempt) error {
	for parents := parentsOf(a.lock); a.shares > 0; a.shares-- {
		if _, err := a.unshare(ctx, parents[a.shares-1]); err != nil {
			return err
		}
	}
	return nil
}

// parentsOf are the directories that a path is in, from the top.
func parentsOf(path string) (list []string) {
	for i := len(prefixOf(path)) + 1; i < len(path); i++ {
		if path[i] == '/' {
			list = append(list, path[:i])
		}
	}
	return list
}
