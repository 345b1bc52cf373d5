package elasticsearch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/dataheader"
	"github.com/fencelab/fencelab/pkg/fence"
)

// node is Elasticsearch as a program reaches it: by a URL, with the user in it if there is one.
type node struct {
	url  *url.URL
	http *http.Client
	// attempt is in the header X-Opaque-Id of each request, by which Elasticsearch lets
	// clients name requests, as attemptOf has it; "" is none.
	attempt string
	// asked is in a header of requests for the data, for the gate: what it is to tell of them. nil: they are for no data.
	asked *history.Event
}

// at is the node at an address, HOST:PORT or a URL.
func at(where string) (*node, error) {
	if !strings.Contains(where, "://") {
		where = "http://" + where
	}
	u, err := url.Parse(where)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%s is no http or https URL with a host", u.Redacted())
	}
	return &node{url: u, http: &http.Client{Transport: new(http.Transport)}}, nil
}

func (n *node) close() { n.http.CloseIdleConnections() }

// opaqueID is Elasticsearch's header for a client's own name of a request.
const opaqueID = "X-Opaque-Id"

// attemptOf is the name of the requests by which a client takes a lock, and releases it.
func attemptOf(owner, lock string) string { return owner + " " + url.PathEscape(lock) }

// isOf reports whether an attempt is one to take a lock.
func isOf(attempt, lock string) bool {
	_, of, _ := strings.Cut(attempt, " ")
	return of == url.PathEscape(lock)
}

// tenureIn is the name of an attempt's tenure in a lock: the owner in the lock that the
// attempt is to take. It can take documents of other locks besides.
func tenureIn(lock, attempt string) string {
	owner, _, _ := strings.Cut(attempt, " ")
	if isOf(attempt, lock) {
		return owner
	}
	return owner + " " + lock
}

// send sends a request, and returns the answer with its body, whatever its status is. path
// begins with a slash, and is escaped.
func (n *node) send(ctx context.Context, method, path string, header http.Header, body []byte) (*http.Response, []byte, error) {
	base := *n.url
	user := base.User
	base.User = nil
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(base.String(), "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	req.Header = header
	if password, has := user.Password(); has {
		req.SetBasicAuth(user.Username(), password)
	}
	resp, err := n.http.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp, answer, err
}

// refusal is an answer by which a request had no effect.
type refusal struct {
	what   string // the request
	status int
	said   string
}

func (r *refusal) Error() string { return fmt.Sprintf("%s: status %d: %s", r.what, r.status, r.said) }

// refused reports whether an error is a refusal of this status.
func refused(err error, status int) bool {
	r, is := errors.AsType[*refusal](err)
	return is && r.status == status
}

// did reports whether a request was done, by its error: what is refused with this status was not.
func did(err error, status int) (bool, error) {
	if refused(err, status) {
		return false, nil
	}
	return err == nil, err
}

// call sends a request with a body, which it makes JSON of unless that is bytes or nil, and reads the answer into out,
// unless that is nil.
func (n *node) call(ctx context.Context, method, path string, in, out any) error {
	header := http.Header{"Content-Type": {"application/json"}}
	if n.attempt != "" {
		header.Set(opaqueID, n.attempt)
	}
	if n.asked != nil {
		dataheader.Set(header, n.asked)
	}
	body, whole := in.([]byte)
	if in != nil && !whole {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return err
		}
	}
	resp, answer, err := n.send(ctx, method, path, header, body)
	if err != nil {
		return err
	}
	what := method + " " + path
	switch {
	case resp.StatusCode >= 500: // it may have been done
		return fmt.Errorf("%s: %s: %s", what, resp.Status, answer)
	case resp.StatusCode >= 300:
		return &refusal{what, resp.StatusCode, string(answer)}
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// The index of the locks, and that of the data. A run in servers that others use has its own,
// called by the prefix of the run's locks; names of indices have no capitals.
const (
	index     = "fs-lock"
	dataIndex = "fs-files"
)

// indexOf is the index in which a lock is, or those are that begin with a prefix.
func indexOf(lock string) string { return index + ofRun(lock) }

// filesOf is the index in which the data is that a lock guards.
func filesOf(lock string) string { return dataIndex + ofRun(lock) }

func ofRun(lock string) string {
	return strings.ToLower(strings.TrimPrefix(service.PrefixOf(lock), "/gcsim"))
}

// path is the path of a request that does something to a document.
func path(index, do, id string) string { return "/" + index + "/" + do + "/" + url.PathEscape(id) }

// stored is a document as it is found.
type stored[T any] struct {
	Found bool `json:"found"`
	version
	Source T `json:"_source"`
}

// version says which change of a document was its last. It is zero if there is no document.
type version struct {
	Seq  int64 `json:"_seq_no"` // higher with each change
	Term int64 `json:"_primary_term"`
}

// read reads the document at a path, from the copy of the node if it has one. The answer is of the last change of this
// copy, refreshed or not.
func read[T any](ctx context.Context, n *node, path string) (d stored[T], err error) {
	err = n.call(ctx, http.MethodGet, path+"?preference=_local", nil, &d)
	if refused(err, http.StatusNotFound) {
		return stored[T]{}, nil
	}
	return d, err
}

// document is the one that a lock has.
type document = stored[content]

func (n *node) document(ctx context.Context, lock string) (document, error) {
	return read[content](ctx, n, path(indexOf(lock), "_doc", lock))
}

// content is what the documents of the recipes say, each a part of it.
type content struct {
	ProcessID string `json:"process_id,omitempty"`
	LockType  string `json:"lock_type,omitempty"`
	LockCount int64  `json:"lock_count,omitempty"`
	// Of package eslock.
	Token   fence.Token `json:"token,omitempty"`
	Holders []holder    `json:"holders,omitempty"`
}

// holder is one in a document of package eslock.
type holder struct {
	Owner    string      `json:"owner"`
	Token    fence.Token `json:"token"`
	Mode     fence.Mode  `json:"mode"`
	TTL      int64       `json:"ttl_ms"`
	Renewals int64       `json:"renewals"`
}

func (c content) names(owner string) bool {
	return c.ProcessID == owner || slices.ContainsFunc(c.Holders, func(h holder) bool { return h.Owner == owner })
}
