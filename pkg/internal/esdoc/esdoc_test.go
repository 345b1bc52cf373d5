package esdoc

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
)

// answering is an index whose node answers all requests alike.
func answering(t *testing.T, status int, body string) *Index {
	t.Helper()
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(node.Close)
	x, err := New(node.URL, "docs", node.Client())
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestOutcomes: a read is definite, whatever comes of it. A write is so where its answer says
// that it was not done.
func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		write  fence.Outcome
	}{
		{http.StatusBadRequest, "no such parameter", fence.Definite},
		{http.StatusForbidden, "", fence.Definite},
		{http.StatusRequestTimeout, "", fence.Unknown},
		{http.StatusTooManyRequests, "", fence.Unknown},
		{http.StatusServiceUnavailable, "no shard", fence.Unknown},
		{http.StatusFound, "", fence.Unknown},
		{http.StatusOK, "no JSON", fence.Unknown},
		{http.StatusOK, "{}", fence.Unknown},
		{http.StatusOK, `{"result": "noop"}`, fence.Unknown},
		{http.StatusAccepted, `{"took": 3}`, fence.Unknown},
		{http.StatusCreated, `{"result": "updated"}`, fence.Unknown}, // it was to be created
	} {
		x := answering(t, c.status, c.body)
		_, written, err := x.Put(t.Context(), "a", Version{}, struct{}{})
		if err == nil || written || fence.OutcomeOf(err) != c.write {
			t.Errorf("a write, status %d: %v, %v, outcome %v, want %v", c.status, written, err, fence.OutcomeOf(err), c.write)
		}
		_, err = x.Get(t.Context(), "a", new(struct{}))
		if err == nil || fence.OutcomeOf(err) != fence.Definite || c.status >= 300 && !strings.Contains(err.Error(), fmt.Sprint("status ", c.status)) {
			t.Errorf("a read, status %d: %v, outcome %v", c.status, err, fence.OutcomeOf(err))
		}
	}
}

// TestRedirect: it is not followed, also where the client does so. Its target would write without
// the condition.
func TestRedirect(t *testing.T) {
	writes := 0
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/elsewhere" {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
			return
		}
		writes++
		fmt.Fprint(w, `{"result": "updated", "_seq_no": 8, "_primary_term": 1}`)
	}))
	defer node.Close()
	x, err := New(node.URL, "docs", &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	_, written, err := x.Put(t.Context(), "a", Version{Found: true, Seq: 7, Term: 1}, struct{}{})
	if written || writes != 0 || err == nil || !strings.Contains(err.Error(), "status 307") || fence.OutcomeOf(err) != fence.Unknown {
		t.Errorf("written: %v, %d writes, %v, outcome %v", written, writes, err, fence.OutcomeOf(err))
	}
}

// TestNoDocument: what is not there is no error, and what was changed is not written.
func TestNoDocument(t *testing.T) {
	if v, err := answering(t, http.StatusNotFound, `{"found": false}`).Get(t.Context(), "a", new(struct{})); err != nil || v.Found {
		t.Errorf("not there: %+v, %v", v, err)
	}
	if _, written, err := answering(t, http.StatusConflict, "").Put(t.Context(), "a", Version{}, struct{}{}); err != nil || written {
		t.Errorf("changed meanwhile: %v, %v", written, err)
	}
}

// TestNew: what is no address or no name of an index, without the password.
func TestNew(t *testing.T) {
	for _, c := range []struct{ address, name, want string }{
		{"127.0.0.1:9200", "docs", "want a URL like http://HOST:9200"},
		{"ftp://u:secret@h", "docs", "want a URL like http://HOST:9200"},
		{"http://u:secret@h:x", "docs", "want a URL like http://HOST:9200"},
		{"http://h:9200", "Docs", "want a name of small letters"},
		{"http://h:9200", "", "want a name of small letters"},
	} {
		_, err := New(c.address, c.name, http.DefaultClient)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") || fence.OutcomeOf(err) != fence.Definite {
			t.Errorf("%s, %q: %v", c.address, c.name, err)
		}
	}
}

// TestCreated: an index that Elasticsearch has made by itself searches its documents.
func TestCreated(t *testing.T) {
	for body, want := range map[string]bool{
		`{"docs": {"mappings": {"dynamic": "false"}}}`:         true,
		`{"docs-1": {"mappings": {"dynamic": false}}}`:         true,
		`{"docs": {"mappings": {}}}`:                           false,
		`{"docs": {"mappings": {"properties": {"token": 1}}}}`: false,
	} {
		if got, err := answering(t, http.StatusOK, body).Created(t.Context()); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", body, got, err, want)
		}
	}
	if _, err := answering(t, http.StatusForbidden, "").Created(t.Context()); err == nil || fence.OutcomeOf(err) != fence.Definite {
		t.Errorf("refused: %v", err)
	}
}
