package elasticsearch

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/dataheader"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// files is the account of the data, in the order in which the gate lets requests through. It is that
// of the tenures of those who have searched for documents, too. The gate's mutex guards it.
type files struct {
	stage     service.Stage
	index     int64              // of the last request
	last      map[string]version // key → that of its document
	searchers []*searcher
}

// searcher is a tenure that goes on as long as the documents are as its client has found them, or made them.
type searcher struct {
	lock, name string
	versions   map[string]version
}

func newFiles(stage service.Stage) *files {
	return &files{stage: stage, last: make(map[string]version)}
}

// questionOf is what a client asks of the data by a request; nil: nothing. What is done is what the
// node gets. The header has only what the node is not told: which request this is, and what it shows.
func questionOf(r *http.Request, body []byte) (*history.Event, error) {
	index, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	if index != dataIndex && !strings.HasPrefix(index, dataIndex+"-") {
		return nil, nil
	}
	do, escaped, ofKey := strings.Cut(rest, "/")
	op := fileOps[r.Method]
	switch {
	case !ofKey && (r.Method == http.MethodGet || "/"+do == search || "/"+do == refresh):
		return nil, nil
	case !ofKey || op == "" || do != "_doc" && do != "_create":
		return nil, fmt.Errorf("the account of the data does not know %s %s", r.Method, r.URL.Path)
	}
	e, err := dataheader.In(r.Header)
	if err != nil {
		return nil, err
	}
	e.Lane, e.Op = history.LaneStorage, op
	if e.Key, err = url.PathUnescape(escaped); err != nil {
		return nil, err
	}
	if op == history.OpWrite {
		var content fileContent
		if err := json.Unmarshal(body, &content); err != nil {
			return nil, err
		}
		e.Value = content.Value
	}
	return &e, nil
}

// fileOps are what requests do to the document of a key.
var fileOps = map[string]string{http.MethodGet: history.OpRead, http.MethodPut: history.OpWrite, http.MethodDelete: history.OpDelete}

// read tells of a read, by its answer.
func (a *files) read(e history.Event, status int, answer []byte) error {
	var f file
	if status != http.StatusOK && status != http.StatusNotFound {
		return nil
	}
	if err := json.Unmarshal(answer, &f); err != nil {
		return err
	}
	e.Value, e.Missing = f.Source.Value, !f.Found
	a.tell(history.KindApplied, e)
	return nil
}

// changed tells of a change: what the document is by now, and which status the answer has
// had, 0 without an answer. Where the answer is lost the document says whether it was changed.
func (a *files) changed(e history.Event, attempt string, status int, now file) {
	before := a.last[e.Key]
	a.last[e.Key] = now.version
	deletesNothing := e.Op == history.OpDelete && status == http.StatusNotFound
	switch {
	case now.version != before || deletesNothing:
		a.tell(history.KindApplied, e)
		a.outrun(e.Key, now.version, attempt)
	case status == http.StatusConflict:
		e.Reason = string(fencehttp.ReasonStale)
		a.tell(history.KindRefused, e)
	}
}

func (a *files) tell(kind history.Kind, e history.Event) {
	a.index++
	e.Kind, e.Index, e.At = kind, a.index, time.Duration(time.Now().UnixNano())
	a.stage.Tell(e)
}

// opened begins the tenure of who has searched for documents.
func (a *files) opened(lock, attempt string, answer []byte) error {
	var f found
	if err := json.Unmarshal(answer, &f); err != nil {
		return err
	}
	s := &searcher{lock, tenureIn(lock, attempt), f.versions()}
	a.searchers = append(a.searchers, s)
	a.tellOf(s, history.Event{Kind: history.KindGranted, Mode: fence.Shared})
	return nil
}

// closed ends the tenure of who has searched.
func (a *files) closed(lock, attempt string) {
	a.endAll("", func(s *searcher) bool { return s.name == tenureIn(lock, attempt) })
}

// outrun ends the tenures of those who have found a document that is another one now. Who has changed it knows.
func (a *files) outrun(key string, now version, attempt string) {
	a.endAll("a document is not as it was found", func(s *searcher) bool {
		if s.name == tenureIn(s.lock, attempt) {
			s.versions[key] = now
			return false
		}
		return s.versions[key] != now
	})
}

func (a *files) endAll(why string, over func(*searcher) bool) {
	a.searchers = slices.DeleteFunc(a.searchers, func(s *searcher) bool {
		if !over(s) {
			return false
		}
		a.tellOf(s, history.Event{Kind: history.KindEnded, Cause: history.CauseRevoked, Text: why})
		return true
	})
}

func (a *files) tellOf(s *searcher, e history.Event) {
	e.At, e.Lane, e.Scope, e.Tenure = time.Duration(time.Now().UnixNano()), Name, s.lock, s.name
	a.stage.Tell(e)
}
