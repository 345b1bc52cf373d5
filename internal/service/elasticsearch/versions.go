package elasticsearch

import (
	"context"
	"net/http"
	"sync"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/pkg/fence"
)

// versions keeps nobody out. Everybody finds the documents of the data, and has a tenure at
// once, which goes on as long as they are as they were found.
var versions = recipe{
	name: "versions", shows: history.ShowsNone, mode: fence.Shared,
	about: "No lock: a search (a scroll) finds all documents of the data, each with its _seq_no. Each change is made only if the document still is as it was found, or as the client itself has made it since (if_seq_no, if_primary_term); a document that was not found is only created. Needs storage: {in: service}.",
	take:  findFiles,
	free:  closeScroll,
}

// version is that of a document. The zero version is that of one that is not there.
type version struct {
	Seq  int64 `json:"_seq_no"` // of its last change, higher each time
	Term int64 `json:"_primary_term"`
}

// findings are the documents of the data as a client has found them, or made them since.
type findings struct {
	scroll string // by which Elasticsearch knows the search

	mu       sync.Mutex
	versions map[string]version // key → that of its document
}

func (f *findings) version(key string) version {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.versions[key]
}

// made takes in what the client has made of a document.
func (f *findings) made(key string, v version) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.versions[key] = v
}

// found is what a search answers.
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
	a.found = &findings{scroll: did.Scroll, versions: did.versions()}
	return true, nil
}

func closeScroll(ctx context.Context, a *attempt) (bool, error) {
	err := a.call(ctx, http.MethodDelete, scroll, values{"scroll_id": a.found.scroll}, nil)
	if refused(err, http.StatusNotFound) {
		return false, nil
	}
	return err == nil, err
}
