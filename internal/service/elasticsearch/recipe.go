package elasticsearch

import (
	"context"
	"net/http"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/pkg/fence"
)

// recipe is a way to take a lock that people use.
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

// Name implements service.Recipe, as the one below does.
func (r *recipe) Name() string { return r.name }

func (r *recipe) About() string { return r.about }

// recipes are all of them.
var recipes = []*recipe{&global, &guarded, &guardedRead, &perDocument, &bulk, &shared, &exclusive, &tree, &versions}

// attempt is one to take a lock, by one request or several, and what came of it.
type attempt struct {
	*node
	lock, owner string
	settings    setting.Values // of the client
	shares      int            // so many of the lock's parents, by the recipe tree
	found       *findings      // by the recipe versions
}

// global is the lock of the whole index in the guide: a document that is there or not.
var global = recipe{
	name: "global", shows: history.ShowsNone,
	about: "The document is created, and deleted to release the lock. It has no content, and no lease.",
	take: func(ctx context.Context, a *attempt) (bool, error) {
		return a.create(ctx, a.lock, struct{}{})
	},
	free: deleteDocument,
}

// create makes a document, and reports whether there was none.
func (n *node) create(ctx context.Context, id string, content any) (bool, error) {
	err := n.call(ctx, http.MethodPut, path("_create", id), content, nil)
	if refused(err, http.StatusConflict) {
		return false, nil
	}
	return err == nil, err
}

// deleteDocument deletes the document of a lock, whoever has made it.
func deleteDocument(ctx context.Context, a *attempt) (bool, error) {
	err := a.call(ctx, http.MethodDelete, path("_doc", a.lock), nil, nil)
	if refused(err, http.StatusNotFound) {
		return false, nil
	}
	return err == nil, err
}
