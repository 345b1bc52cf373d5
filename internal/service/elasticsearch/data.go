package elasticsearch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

func (c *client) Under(t service.Tenure) (of service.Data, within bool) {
	d := data{of: c}
	if t == nil {
		return d, false
	}
	d.tenure = t.Name()
	if held, is := t.(*held); is {
		d.found = held.of.found
	}
	return d, false
}

// data is that in Elasticsearch, a document for each key, as a client reaches it under a tenure.
type data struct {
	of     *client
	tenure string    // "": none
	found  *findings // nil: it has searched for nothing
}

// file is the document of a key.
type file = stored[fileContent]

type fileContent struct {
	Value string `json:"value"`
}

func (n *node) file(ctx context.Context, lock, key string) (file, error) {
	return read[fileContent](ctx, n, path(filesOf(lock), "_doc", key))
}

// Do implements service.Data: a change of several keys is none of Elasticsearch's.
func (d data) Do(ctx context.Context, ask *history.Event) error {
	n := d.of.node
	if d.tenure != "" {
		n.attempt = attemptOf(d.tenure, ask.Scope)
	}
	n.asked = ask
	var err error
	switch ask.Op {
	case history.OpRead:
		var f file
		if f, err = n.file(ctx, ask.Scope, ask.Key); err == nil {
			ask.Value, ask.Missing = f.Source.Value, !f.Found
		}
	case history.OpWrite, history.OpDelete:
		err = d.change(ctx, &n, ask)
	default:
		return fence.Definite.New(fmt.Sprintf("%s %s: Elasticsearch changes no two documents in one step", Name, ask.Op))
	}
	switch {
	case refused(err, http.StatusConflict):
		return fmt.Errorf("%w: the document of %s is not as it was found, or has a higher version", fence.ErrStale, ask.Key)
	case errors.As(err, new(*refusal)):
		return fence.Definite.Wrap(fmt.Errorf("%s of %q: %w", ask.Op, ask.Key, err))
	case err != nil:
		return &lock.UnknownError{Op: ask.Op, Scope: ask.Scope, Err: err}
	}
	return nil
}

// change makes a document what a write or a delete wants, on condition where the client compares.
func (d data) change(ctx context.Context, n *node, ask *history.Event) error {
	compares := d.found != nil && d.of.settings.Flag(settingCompare)
	method, do, condition := http.MethodPut, "_doc", ""
	var content any = fileContent{ask.Value}
	if ask.Op == history.OpDelete {
		method, content = http.MethodDelete, nil
	}
	if compares {
		switch v := d.found.version(ask.Key); {
		case v != version{}:
			condition = fmt.Sprintf("?if_seq_no=%d&if_primary_term=%d", v.Seq, v.Term)
		case ask.Op == history.OpWrite:
			do = "_create"
		}
	}
	if d.of.settings.Text(settingVersion) == versionExternal {
		condition = fmt.Sprintf("?version=%d&version_type=external", ask.Token)
	}
	var made version
	err := n.call(ctx, method, path(filesOf(ask.Scope), do, ask.Key)+condition, content, &made)
	if ask.Op == history.OpDelete {
		made = version{}
		if refused(err, http.StatusNotFound) { // there is nothing to delete
			err = nil
		}
	}
	if err == nil && d.found != nil {
		d.found.versions.Store(ask.Key, made)
	}
	return err
}

func (s *servers) Final(ctx context.Context, key string) (value string, has bool, err error) {
	f, err := s.node.file(ctx, s.stage.Plan().Prefix+"/", key)
	return f.Source.Value, f.Found, err
}

// versions keeps nobody out. Everybody finds the documents of the data, and has a tenure at
// once, which goes on as long as they are as they were found.
var versions = recipe{
	name: "versions", shows: history.ShowsNone, mode: fence.Shared,
	about: "No lock: a search (a scroll) finds all documents of the data, each with its _seq_no. Each change is made only if the document still is as the client has found it, or made it since (if_seq_no, if_primary_term); a document that was not found is only created. Needs storage: {in: service}.",
	take:  findFiles,
	free:  closeScroll,
}

// findings are the documents of the data as a client has found them, or made them since.
type findings struct {
	scroll   string   // by which Elasticsearch knows the search
	versions sync.Map // key → version of its document
}

func (f *findings) version(key string) version {
	known, _ := f.versions.Load(key)
	v, _ := known.(version)
	return v
}

type found struct {
	Scroll string `json:"_scroll_id"`
	Hits   struct {
		Hits []struct {
			Key string `json:"_id"`
			version
		} `json:"hits"`
	} `json:"hits"`
}

// versions are those of the documents that a search has found, by key.
func (f found) versions() map[string]version {
	list := make(map[string]version)
	for _, hit := range f.Hits.Hits {
		list[hit.Key] = hit.version
	}
	return list
}

const (
	refresh     = "/_refresh"
	search      = "/_search"
	scroll      = "/_search/scroll"
	scrollQuery = "?scroll=1m" // for how long Elasticsearch knows a search of which it hears nothing
	mostFiles   = 1000         // that a search finds. A story has fewer
)

// findFiles begins the scroll by which a program changes many documents.
func findFiles(ctx context.Context, a *attempt) (bool, error) {
	of := "/" + filesOf(a.lock)
	if a.settings.Flag(settingRefresh) {
		if err := a.call(ctx, http.MethodPost, of+refresh, nil, nil); err != nil {
			return false, err
		}
	}
	var did found
	err := a.call(ctx, http.MethodPost, of+search+scrollQuery, values{"size": mostFiles, "seq_no_primary_term": true}, &did)
	if err != nil {
		return false, err
	}
	a.found = &findings{scroll: did.Scroll}
	for key, v := range did.versions() {
		a.found.versions.Store(key, v)
	}
	return true, nil
}

func closeScroll(ctx context.Context, a *attempt) (bool, error) {
	return did(a.call(ctx, http.MethodDelete, scroll, values{"scroll_id": a.found.scroll}, nil), http.StatusNotFound)
}
