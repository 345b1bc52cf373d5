package elasticsearch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/history"
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
	// renew begins the lease anew, and reports whether the lock was still the client's;
	// nil: the recipe has no lease.
	renew func(ctx context.Context, a *attempt) (mine bool, err error)
}

// Name implements service.Recipe, as the one below does.
func (r *recipe) Name() string { return r.name }

func (r *recipe) About() string { return r.about }

// recipes are all of them.
var recipes = []*recipe{&global, &guarded, &perDocument}

// attempt is one to take a lock, by one request or several, and what came of it.
type attempt struct {
	*node
	lock, owner string
	ttl         time.Duration
	token       fence.Token // that was given

	left document  // the document as the client has left it
	seen document  // the document of another holder
	when time.Time // it was seen first
}

// global is the lock of the whole index in the guide: a document that is there or not.
var global = recipe{
	name: "global", shows: history.ShowsNone,
	about: "The document is created, and deleted to release the lock.",
	take: func(ctx context.Context, a *attempt) (bool, error) {
		err := a.call(ctx, http.MethodPut, path("_create", a.lock), struct{}{}, nil)
		if refused(err, http.StatusConflict) {
			return false, nil
		}
		return err == nil, err
	},
	free: func(ctx context.Context, a *attempt) (bool, error) {
		err := a.call(ctx, http.MethodDelete, path("_doc", a.lock), nil, nil)
		if refused(err, http.StatusNotFound) {
			return false, nil
		}
		return err == nil, err
	},
}

// perDocument is the lock of a document in the guide.
var perDocument = recipe{
	name: "document", shows: history.ShowsNone,
	about: "The document says the holder's process_id: a script refuses all others. To release its locks the holder refreshes the index, and deletes by query what has its process_id.",
	take:  takeDocument,
	free:  freeDocuments,
}

// isAnothers is what the script says where the lock is not the client's.
const isAnothers = "the lock is of another process"

// takeOrRefuse is the guide's script, in Painless.
const takeOrRefuse = `if (ctx._source.process_id != params.process_id) { throw new IllegalStateException('` + isAnothers + `') } ctx.op = 'none'`

type values = map[string]any

func takeDocument(ctx context.Context, a *attempt) (bool, error) {
	own := values{"process_id": a.owner}
	err := a.call(ctx, http.MethodPost, path("_update", a.lock), values{
		"script": values{"lang": "painless", "source": takeOrRefuse, "params": own},
		"upsert": own,
	}, nil)
	var answer *refusal
	if errors.As(err, &answer) && (answer.status == http.StatusConflict || strings.Contains(answer.said, isAnothers)) {
		return false, nil
	}
	return err == nil, err
}

func freeDocuments(ctx context.Context, a *attempt) (bool, error) {
	of := "/" + indexOf(a.lock)
	if err := a.call(ctx, http.MethodPost, of+"/_refresh", nil, nil); err != nil {
		return false, err
	}
	var did struct {
		Deleted int `json:"deleted"`
	}
	err := a.call(ctx, http.MethodPost, of+"/_delete_by_query", values{
		"query": values{"term": values{"process_id": a.owner}},
	}, &did)
	return did.Deleted > 0, err
}

// guarded is a lock that says its holder, its token and its lease, in a document that is never
// deleted. Who waits takes it over when it has not changed for as long as a lease lasts, by
// the waiting client's own clock: no two clocks are compared.
var guarded = recipe{
	name: "global-guarded", shows: history.ShowsGrant,
	about: "The document says the holder, the TTL of the lease, and a token, one higher with each grant. It is never deleted. The holder renews its lease by a change of the document. Who waits takes the lock over when the document has not changed for the TTL. Each change is made only if the document is as it was read (if_seq_no, if_primary_term).",
	take:  takeGuarded,
	free: func(ctx context.Context, a *attempt) (bool, error) {
		return a.change(ctx, lease{Token: uint64(a.token)})
	},
	renew: func(ctx context.Context, a *attempt) (bool, error) { return a.change(ctx, a.lease()) },
}

// lease is what the document says while the client holds the lock.
func (a *attempt) lease() lease {
	return lease{Owner: a.owner, Token: uint64(a.token), TTL: a.ttl.Milliseconds()}
}

func takeGuarded(ctx context.Context, a *attempt) (bool, error) {
	d, err := a.get(ctx, a.lock)
	if err != nil || a.waits(d) {
		return false, err
	}
	a.token = fence.Token(d.Source.Token + 1)
	err = a.put(ctx, d, a.lease())
	if refused(err, http.StatusConflict) {
		return false, nil
	}
	return err == nil, err
}

// waits reports whether a document says that the lock is another's.
func (a *attempt) waits(d document) bool {
	if !d.Found || d.Source.Owner == "" {
		return false
	}
	if d.Seq != a.seen.Seq || d.Term != a.seen.Term || a.when.IsZero() {
		a.seen, a.when = d, time.Now()
	}
	return time.Since(a.when) < time.Duration(d.Source.TTL)*time.Millisecond
}

// put writes the document if it is as it was read.
func (a *attempt) put(ctx context.Context, read document, now lease) error {
	to := path("_create", a.lock)
	if read.Found {
		to = fmt.Sprintf("%s?if_seq_no=%d&if_primary_term=%d", path("_doc", a.lock), read.Seq, read.Term)
	}
	wrote := document{Found: true, Source: now}
	err := a.call(ctx, http.MethodPut, to, now, &wrote)
	if err == nil {
		a.left = wrote
	}
	return err
}

// change writes the document if it is as the client has left it, by an answer that it may not
// have got.
func (a *attempt) change(ctx context.Context, now lease) (mine bool, err error) {
	if !a.left.Found { // the client has not held the lock
		return false, nil
	}
	for {
		err := a.put(ctx, a.left, now)
		if !refused(err, http.StatusConflict) {
			return err == nil, err
		}
		d, err := a.get(ctx, a.lock)
		if err != nil || d.Source.Owner != a.owner {
			return false, err
		}
		a.left = d
	}
}
