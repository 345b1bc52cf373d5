package elasticsearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/fencelab/fencelab/internal/history"
)

// perDocument is the lock of a document in the guide.
var perDocument = recipe{
	name: "document", shows: history.ShowsNone,
	about: "The document says the holder's process_id, which gcsim's clients choose anew for each tenure. A script in the update refuses all others. To release its locks the holder refreshes the index, and deletes by query what has its process_id. No lease.",
	take: func(ctx context.Context, a *attempt) (bool, error) {
		return a.update(ctx, a.lock, takeOrRefuse(a.owner))
	},
	free: freeDocuments,
}

// bulk takes the locks of several documents by one request.
var bulk = recipe{
	name: "bulk", shows: history.ShowsNone,
	about: "As document, but one request (_bulk) takes the document of the lock and those that the setting also names. Elasticsearch does each part of the request by itself.",
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
	err := n.call(ctx, http.MethodPost, path("_update", id), change, nil)
	var answer *refusal
	if errors.As(err, &answer) && anothers(answer.status, answer.said) {
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
	var request lines
	for _, id := range append(also(a.lock, a.settings.Text(settingAlso)), a.lock) {
		request = append(request, values{"update": values{"_id": id}}, takeOrRefuse(a.owner))
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
	if err := a.call(ctx, http.MethodPost, "/"+indexOf(a.lock)+"/_bulk", request, &did); err != nil {
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
