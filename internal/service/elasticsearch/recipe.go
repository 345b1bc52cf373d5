package elasticsearch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/eslock"
)

type recipe struct {
	name, about string
	// shows is what the number that it gives is, as in history.Run.Tokens.
	shows string
	// take makes one attempt to take the lock. free undoes that, and reports whether there
	// was something to undo.
	take, free func(ctx context.Context, a *attempt) (done bool, err error)
	// back gives back what an attempt has taken that did not get the lock; nil: nothing.
	back func(ctx context.Context, a *attempt) error

	mode fence.Mode // how it takes the lock
	own  bool       // it is package eslock, in place of take and free
}

func (r *recipe) Says() (name, about string) { return r.name, r.about }

var recipes = []*recipe{&global, &guarded, &guardedRead, &perDocument, &bulk, &shared, &exclusive, &tree, &versions}

// attempt is one to take a lock, by one request or several, and what came of it.
type attempt struct {
	*client
	op, lock, owner string
	own             *eslock.Backend // of a recipe that is package eslock
	shares          int             // so many of the lock's parents, by the recipe tree
	found           *findings       // by the recipe versions
}

// global is the lock of the whole index in the guide: a document that is there or not.
var global = recipe{
	name: "global", shows: history.ShowsNone,
	about: "The document is created, and deleted to release the lock. No content, no lease.",
	take:  creating(struct{}{}),
	free:  deleteDocument,
}

// creating takes a lock by making its document.
func creating(content any) func(context.Context, *attempt) (bool, error) {
	return func(ctx context.Context, a *attempt) (bool, error) { return a.create(ctx, a.lock, content) }
}

// create makes a document, and reports whether there was none.
func (n *node) create(ctx context.Context, id string, content any) (bool, error) {
	return did(n.call(ctx, http.MethodPut, path(indexOf(id), "_create", id), content, nil), http.StatusConflict)
}

// deleteDocument deletes the document of a lock, whoever has made it.
func deleteDocument(ctx context.Context, a *attempt) (bool, error) {
	return did(a.call(ctx, http.MethodDelete, path(indexOf(a.lock), "_doc", a.lock), nil, nil), http.StatusNotFound)
}

// Package eslock.
var (
	guarded = recipe{
		name: "global-guarded", shows: history.ShowsGrant, own: true,
		about: "Package eslock: the document names the holder, the TTL of its lease and a token, one higher with each grant. It is never deleted. The holder renews its lease by a change of the document every third of the TTL. A waiter takes the lock over when the document has said the same of the holder for the TTL, by its own clock. Each change is made only if the document is as it was read (if_seq_no, if_primary_term).",
	}
	guardedRead = recipe{
		name: "global-guarded-read", shows: history.ShowsGrant, own: true, mode: fence.Shared,
		about: "A reader's lock beside global-guarded: the document names each reader, with its lease and its token.",
	}
)

func (a *attempt) tryOwn(ctx context.Context) (service.Tenure, error) {
	try := a.own.TryLock
	if a.recipe.mode == fence.Shared {
		try = a.own.TryRLock
	}
	t, err := try(ctx, a.lock)
	switch {
	case errors.Is(err, lock.ErrLocked):
		return nil, lock.ErrLocked
	case err != nil:
		return nil, err
	}
	service.Stand(ctx, a.owner)
	return &held{service.Owned{Tenure: t}, a}, nil
}

// perDocument is the lock of a document in the guide.
var perDocument = recipe{
	name: "document", shows: history.ShowsNone,
	about: "The document has the holder's process_id, a new one for each tenure. A script in the update refuses all others. To release its locks the holder refreshes the index, and deletes by query what has its process_id. No lease.",
	take: func(ctx context.Context, a *attempt) (bool, error) {
		return a.update(ctx, a.lock, takeOrRefuse(a.owner))
	},
	free: freeDocuments,
}

// bulk takes the locks of several documents by one request.
var bulk = recipe{
	name: "bulk", shows: history.ShowsNone,
	about: "As document, but one request (_bulk) takes the documents of the lock and of the setting also. Elasticsearch does each part of the request by itself.",
	take:  takeDocuments,
	free:  freeDocuments,
}

type values = map[string]any

// isAnothers is what scripts say where the lock is not the client's.
const isAnothers = "the lock is of another process"

// takeOrRefuse is the guide's update of a document, with its script in Painless.
func takeOrRefuse(owner string) values {
	own := values{"process_id": owner}
	return values{
		"script": values{
			"lang":   "painless",
			"source": `if (ctx._source.process_id != params.process_id) { throw new IllegalStateException('` + isAnothers + `') } ctx.op = 'none'`,
			"params": own,
		},
		"upsert": own,
	}
}

// update changes a document by a script, and reports whether the script let it.
func (n *node) update(ctx context.Context, id string, change values) (bool, error) {
	err := n.call(ctx, http.MethodPost, path(indexOf(id), "_update", id), change, nil)
	if answer, is := errors.AsType[*refusal](err); is && anothers(answer.status, answer.said) {
		return false, nil
	}
	return err == nil, err
}

// anothers reports whether an answer says that the lock is another's, or that another client
// has changed the document meanwhile.
func anothers(status int, said string) bool {
	return status == http.StatusConflict || strings.Contains(said, isAnothers)
}

func takeDocuments(ctx context.Context, a *attempt) (bool, error) {
	var request bytes.Buffer
	lines := json.NewEncoder(&request)
	for _, id := range append(also(a.lock, a.settings.Text(settingAlso)), a.lock) {
		if err := errors.Join(lines.Encode(values{"update": values{"_id": id}}), lines.Encode(takeOrRefuse(a.owner))); err != nil {
			return false, err
		}
	}
	var did struct {
		Items []struct {
			Update struct {
				ID     string          `json:"_id"`
				Status int             `json:"status"`
				Error  json.RawMessage `json:"error"`
			} `json:"update"`
		} `json:"items"`
	}
	if err := a.call(ctx, http.MethodPost, "/"+indexOf(a.lock)+"/_bulk", request.Bytes(), &did); err != nil {
		return false, err
	}
	taken := true
	for _, item := range did.Items {
		switch one := item.Update; {
		case anothers(one.Status, string(one.Error)):
			taken = false
		case one.Status >= 300:
			return false, fmt.Errorf("take %s by _bulk: status %d: %s", one.ID, one.Status, one.Error)
		}
	}
	return taken, nil
}

// also are the documents beside that of a lock that a client names.
func also(lock, names string) (list []string) {
	if names == alsoNone {
		return nil
	}
	for name := range strings.SplitSeq(names, "+") {
		list = append(list, lock[:strings.LastIndex(lock, "/")+1]+name)
	}
	return list
}

func freeDocuments(ctx context.Context, a *attempt) (bool, error) {
	of := "/" + indexOf(a.lock)
	if a.settings.Flag(settingRefresh) {
		if err := a.call(ctx, http.MethodPost, of+refresh, nil, nil); err != nil {
			return false, err
		}
	}
	var did struct {
		Deleted int `json:"deleted"`
	}
	err := a.call(ctx, http.MethodPost, of+"/_delete_by_query", values{
		"query": values{"term": values{"process_id": a.owner}},
	}, &did)
	return did.Deleted > 0, err
}

// The guide's lock of readers and writers: the document says of which kind its holders are,
// and how many readers there are. It does not say who they are.
var (
	shared = recipe{
		name: "shared", shows: history.ShowsNone, mode: fence.Shared,
		about: "A reader's lock: the document has the lock_type shared and a lock_count, to which a script adds one, unless the lock_type is exclusive. To release the lock a script takes one off, and deletes the document at 0. No lease.",
		take:  func(ctx context.Context, a *attempt) (bool, error) { return a.share(ctx, a.lock) },
		free:  func(ctx context.Context, a *attempt) (bool, error) { return a.unshare(ctx, a.lock) },
	}
	exclusive = recipe{
		name: "exclusive", shows: history.ShowsNone,
		about: "A writer's lock beside shared: the document is created, with the lock_type exclusive, and deleted to release the lock. No lease.",
		take:  creating(writers),
		free:  deleteDocument,
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

// tree is the guide's lock of a path in a tree. Who has a directory for itself has all that is
// in it, as everybody else would have to share the directory.
var tree = recipe{
	name: "tree", shows: history.ShowsNone,
	about: "The lock is a path: the client takes shared on each parent, from the top, and then exclusive on the path itself. While it waits it keeps the parents that it has. It releases the path first, and then the parents from the longest. No lease.",
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
	for i := len(service.PrefixOf(path)) + 1; i < len(path); i++ {
		if path[i] == '/' {
			list = append(list, path[:i])
		}
	}
	return list
}
