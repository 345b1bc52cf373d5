// Package esdoc reads documents of Elasticsearch and OpenSearch, and writes them on condition
// that they are as they were read.
package esdoc

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/fencelab/fencelab/pkg/fence"
)

// longest is how many bytes the ID of a document may have.
const longest = 512

// CheckScope is an error, which wraps fence.ErrInvalidScope, where a scope can't be the ID of a
// document.
func CheckScope(scope string) error {
	switch {
	case scope == "":
		return fmt.Errorf("%w: it is empty", fence.ErrInvalidScope)
	case len(scope) > longest:
		return fmt.Errorf("%w: it has %d bytes, want %d at most", fence.ErrInvalidScope, len(scope), longest)
	case !utf8.ValidString(scope):
		return fmt.Errorf("%w: %q is no UTF-8", fence.ErrInvalidScope, scope)
	}
	return nil
}

// Version is which state of a document was read, or written.
type Version struct {
	Found bool  `json:"found"`
	Seq   int64 `json:"_seq_no"` // of the last change
	Term  int64 `json:"_primary_term"`
}

// Index has documents.
type Index struct {
	Name string
	base url.URL // without the user
	user *url.Userinfo
	http *http.Client
}

var indexName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)

// New is the index of a name at an address: the URL of a node, or of what stands before the
// nodes, with a user and a password or without. The error does not tell the password. The index
// follows no redirect, whatever client does: one that loses the query of a write loses its
// condition.
func New(address, name string, client *http.Client) (*Index, error) {
	base, err := url.Parse(address)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, fence.Definite.New("the address is none: want a URL like http://HOST:9200")
	}
	if !indexName.MatchString(name) {
		return nil, fence.Definite.New(fmt.Sprintf("the index %q: want a name of small letters, digits, - and _, which begins with a letter or a digit", name))
	}
	if client == nil {
		return nil, fence.Definite.New("the HTTP client is nil")
	}
	stays := *client
	stays.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	x := &Index{Name: name, base: *base, user: base.User, http: &stays}
	x.base.User = nil
	return x, nil
}

// unindexed are the settings of an index in which nobody searches.
const unindexed = `{"mappings": {"dynamic": false}}`

// Create creates the index, if it is not there. Its documents are stored, and not indexed for
// searches.
func (x *Index) Create(ctx context.Context) error {
	status, said, err := x.send(ctx, http.MethodPut, "", []byte(unindexed))
	if err == nil && status == http.StatusBadRequest && bytes.Contains(said, []byte("resource_already_exists_exception")) {
		return nil
	}
	if err == nil {
		err = refusal(status, said)
	}
	if err != nil {
		return fmt.Errorf("create the index %s: %w", x.Name, err)
	}
	return nil
}

// Created reports whether the index is as Create makes it. Elasticsearch makes an index by itself
// for a write to one that is not there, such as one that was deleted; unless it is told not to
// (action.auto_create_index). The errors are definite.
func (x *Index) Created(ctx context.Context) (bool, error) {
	status, said, err := x.send(ctx, http.MethodGet, "/_mapping", nil)
	if err == nil {
		err = refusal(status, said)
	}
	var found map[string]struct {
		Mappings struct {
			Dynamic any `json:"dynamic"` // a text, or a boolean
		} `json:"mappings"`
	}
	if err == nil {
		err = json.Unmarshal(said, &found)
	}
	if err != nil {
		return false, fence.Definite.Wrap(fmt.Errorf("the mapping of the index %s: %w", x.Name, err))
	}
	for _, index := range found { // one; its name is another one where x.Name is an alias
		if fmt.Sprint(index.Mappings.Dynamic) != "false" {
			return false, nil
		}
	}
	return true, nil
}

// Get reads a document into source, if it is there. The answer is of the last change, refreshed
// or not. Its errors are definite, as it changes nothing.
func (x *Index) Get(ctx context.Context, id string, source any) (Version, error) {
	v, err := x.get(ctx, id, source)
	if err != nil {
		err = fence.Definite.Wrap(err)
	}
	return v, err
}

func (x *Index) get(ctx context.Context, id string, source any) (Version, error) {
	status, said, err := x.send(ctx, http.MethodGet, "/_doc/"+escape(id), nil)
	switch {
	case err != nil:
		return Version{}, err
	case status == http.StatusNotFound && bytes.Contains(said, []byte("index_not_found_exception")):
		return Version{}, fmt.Errorf("there is no index %s: Create makes it", x.Name)
	case status == http.StatusNotFound:
		return Version{}, nil
	}
	if err := refusal(status, said); err != nil {
		return Version{}, err
	}
	found := struct {
		Version
		Source any `json:"_source"`
	}{Source: source}
	if err := json.Unmarshal(said, &found); err != nil {
		return Version{}, fmt.Errorf("the document %q: %w", id, err)
	}
	if !found.Found {
		return Version{}, fmt.Errorf("the document %q: status %d without a document: %.500s", id, status, said)
	}
	return found.Version, nil
}

// Put writes a document if it is as it was read. written is false where it is not.
func (x *Index) Put(ctx context.Context, id string, read Version, source any) (left Version, written bool, err error) {
	to, want := "/_create/"+escape(id), "created"
	if read.Found {
		want = "updated"
		to = fmt.Sprintf("/_doc/%s?if_seq_no=%d&if_primary_term=%d", escape(id), read.Seq, read.Term)
	}
	body, err := json.Marshal(source)
	if err != nil {
		return Version{}, false, fence.Definite.Wrap(err)
	}
	status, said, err := x.send(ctx, http.MethodPut, to, body)
	if err != nil {
		return Version{}, false, err
	}
	if status == http.StatusConflict {
		return Version{}, false, nil
	}
	if err := refusal(status, said); err != nil {
		return Version{}, false, err
	}
	var done struct {
		Version
		Result string `json:"result"`
	}
	if err := json.Unmarshal(said, &done); err != nil {
		return Version{}, false, fmt.Errorf("the answer to a write of %q: %w", id, err)
	}
	if done.Result != want {
		return Version{}, false, fmt.Errorf("the answer to a write of %q: status %d and the result %q, want %q: %.500s", id, status, done.Result, want, said)
	}
	done.Found = true
	return done.Version, true, nil
}

// send sends a request about the index, and returns the answer.
func (x *Index) send(ctx context.Context, method, path string, body []byte) (status int, said []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(x.base.String(), "/")+"/"+x.Name+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, fence.Definite.Wrap(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if password, has := x.user.Password(); has {
		req.SetBasicAuth(x.user.Username(), password)
	}
	resp, err := x.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	said, err = io.ReadAll(resp.Body)
	return resp.StatusCode, said, err
}

// refusal is the error of an answer that is none of success. It is definite where the request
// was not carried out.
func refusal(status int, said []byte) error {
	if status < 300 {
		return nil
	}
	err := fmt.Errorf("status %d: %.500s", status, said)
	if status >= 400 && status < 500 && status != http.StatusRequestTimeout && status != http.StatusTooManyRequests {
		return fence.Definite.Wrap(err)
	}
	return err
}

// escape is the ID of a document in a path. Elasticsearch 7 takes a plus for a space if it is
// told to (es.rest.url_plus_as_space).
func escape(id string) string { return strings.ReplaceAll(url.PathEscape(id), "+", "%2B") }
