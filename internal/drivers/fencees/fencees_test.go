// Package fencees_test has the tests of fencees that need a node.
package fencees_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/drivers/drivertest"
	"github.com/fencelab/fencelab/internal/service/elasticsearch/estest"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencees"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// node is that of all tests but those that restart one.
var node estest.Node

func TestMain(m *testing.M) { estest.Main(m, &node) }

// newIndex is the name of one that no run has made before.
func newIndex() string { return strings.ToLower(rand.Text()) }

// subject makes stores on a node, each an index.
func subject(addr string) fencetest.Subject {
	open := func(ctx context.Context, name string, bound func(fence.Claim) (fence.Token, error)) (fencetest.Store, error) {
		s, err := fencees.New("http://"+addr, name)
		if err != nil {
			return nil, err
		}
		s.Bound = bound
		return drivertest.Document{Name: name, Change: func(ctx context.Context, c fence.Claim, edit func([]byte) ([]byte, error)) error {
			return s.Do(ctx, c, func(data json.RawMessage) (json.RawMessage, error) { return edit(data) })
		}, Look: func(ctx context.Context, scope string) ([]byte, fence.Mark, error) { return s.Read(ctx, scope) }}, s.Create(ctx)
	}
	return fencetest.Subject{
		Open: func(ctx context.Context) (fencetest.Store, error) { return open(ctx, newIndex(), nil) },
		OpenBounded: func(ctx context.Context, bound fence.Token) (fencetest.Store, error) {
			return open(ctx, newIndex(), func(fence.Claim) (fence.Token, error) { return bound, nil })
		},
		Second: func(ctx context.Context, s fencetest.Store) (fencetest.Store, error) {
			return open(ctx, s.(drivertest.Document).Name, nil)
		},
		Fail:     drivertest.FailDocument,
		Idle:     time.Second,
		MaxScope: 512,
		Marks:    300,
	}
}

func TestLaws(t *testing.T) { drivertest.LawsOfStore(t, subject(node.Get(t).Addr)) }

// TestLawsOfRestarts: a node that is killed and started again has all marks.
func TestLawsOfRestarts(t *testing.T) {
	own := estest.Start(t)
	s := subject(own.Addr)
	s.Restart = func(ctx context.Context, old fencetest.Store) (fencetest.Store, error) {
		return old, errors.Join(own.Kill(), own.Restart(ctx))
	}
	drivertest.RestartsOfStore(t, s)
}

// send sends a request to a node, and returns the status of the answer.
func send(t *testing.T, method, url, body string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if said, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode >= 300 && resp.StatusCode != http.StatusConflict {
		t.Fatalf("%s %s: %s: %s, %v", method, url, resp.Status, said, err)
	}
	return resp.StatusCode
}

// TestExternalVersions: an external version refuses a lower one, also of a document that was
// deleted; but when the index has forgotten the delete, a stale write brings the document back.
func TestExternalVersions(t *testing.T) {
	addr := node.Get(t).Addr
	for kept, forgets := range map[string]bool{"1h": false, "1ms": true} {
		t.Run("gc_deletes "+kept, func(t *testing.T) {
			index := "http://" + addr + "/" + newIndex()
			send(t, http.MethodPut, index, fmt.Sprintf(`{"settings": {"number_of_replicas": 0, "refresh_interval": -1, "gc_deletes": %q}}`, kept))
			write := func(version int) int {
				return send(t, http.MethodPut, fmt.Sprintf("%s/_doc/1?version=%d&version_type=external_gte", index, version), `{}`)
			}
			if status := write(34); status != http.StatusCreated {
				t.Fatalf("version 34: status %d", status)
			}
			if status := write(33); status != http.StatusConflict {
				t.Errorf("version 33 after 34: status %d", status)
			}
			send(t, http.MethodDelete, index+"/_doc/1?version=34&version_type=external_gte", "")
			if !forgets {
				send(t, http.MethodPost, index+"/_refresh", "") // which forgets what is old enough
				if status := write(33); status != http.StatusConflict {
					t.Errorf("version 33 after the delete of 34: status %d", status)
				}
				return
			}
			for begun := time.Now(); write(33) != http.StatusCreated; send(t, http.MethodPost, index+"/_refresh", "") {
				if time.Since(begun) > estest.Deadline {
					t.Fatal("the delete of version 34 is never forgotten")
				}
			}
		})
	}
}

// TestDocument: data and mark are in one document, which outlives the data.
func TestDocument(t *testing.T) {
	s, err := fencees.New("http://"+node.Get(t).Addr, newIndex())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it is there
		if err := s.Create(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		claim fence.Claim
		data  string
		want  fence.Mark
	}{
		{fence.Claim{Scope: "/a", Token: 7, Mode: fence.Shared}, `{"n":1}`, fence.Mark{Shared: 7}},
		{fence.Claim{Scope: "/a", Token: 9007199254740993, Sequence: 3}, `{"n":2}`, fence.Mark{Token: 9007199254740993, Sequence: 3}},
		{fence.Claim{Scope: "/a", Token: 9007199254740993}, "", fence.Mark{Token: 9007199254740993, Sequence: 3}},
	} {
		if err := s.Do(t.Context(), step.claim, func(json.RawMessage) (json.RawMessage, error) { return json.RawMessage(step.data), nil }); err != nil {
			t.Fatal(err)
		}
		data, mark, err := s.Read(t.Context(), "/a")
		if err != nil || string(data) != step.data || mark != step.want {
			t.Errorf("%+v: %s, %+v, %v", step.claim, data, mark, err)
		}
	}
}

// TestErrors: each says what is wrong, and whether the outcome is known.
func TestErrors(t *testing.T) {
	keep := func(data json.RawMessage) (json.RawMessage, error) { return data, nil }
	s, err := fencees.New("http://"+node.Get(t).Addr, "nowhere")
	if err != nil {
		t.Fatal(err)
	}
	err = s.Do(t.Context(), fence.Claim{Scope: "/a", Token: 1}, keep)
	if err == nil || !strings.Contains(err.Error(), "there is no index nowhere") || fence.OutcomeOf(err) != fence.Definite {
		t.Errorf("no index: %v", err)
	}
	for _, scope := range []string{"", strings.Repeat("x", 513), "\xff"} {
		if err := s.Do(t.Context(), fence.Claim{Scope: scope, Token: 1}, keep); !errors.Is(err, fence.ErrInvalidScope) {
			t.Errorf("%.20q: %v", scope, err)
		}
	}
}

// TestSentTwice: something on the way sends a write again whose answer it has not got, as proxies do, and as a node does
// after a failover. The second one is refused because of the first, and the change is made once.
func TestSentTwice(t *testing.T) {
	var once atomic.Bool // the next write is sent twice
	proxy := drivertest.TwiceProxy(t, node.Get(t).Addr, func(r *http.Request) bool {
		return r.Method == http.MethodPut && once.CompareAndSwap(true, false)
	})
	s, err := fencees.New(proxy, newIndex())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	more := func(data json.RawMessage) (json.RawMessage, error) {
		n := 0
		if data != nil {
			if err := json.Unmarshal(data, &n); err != nil {
				return nil, err
			}
		}
		return json.Marshal(n + 1)
	}
	for i, claim := range []fence.Claim{
		{Scope: "/a", Token: 7}, {Scope: "/a", Token: 7}, {Scope: "/a", Token: 7, Sequence: 1}, {Scope: "/a", Token: 8, Mode: fence.Shared},
	} {
		once.Store(true)
		if err := s.Do(t.Context(), claim, more); err != nil {
			t.Errorf("%+v: %v", claim, err)
		}
		if data, _, err := s.Read(t.Context(), "/a"); err != nil || string(data) != fmt.Sprint(i+1) {
			t.Errorf("%+v: after %d changes the data are %s, %v", claim, i+1, data, err)
		}
	}
}

func TestSentTwiceUnread(t *testing.T) {
	index := newIndex()
	s, err := fencees.New("http://"+node.Get(t).Addr, index)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	drivertest.ChangedTwiceUnread(t, http.DefaultTransport, func(client *http.Client) (func(context.Context) error, error) {
		s, err := fencees.New("http://"+node.Get(t).Addr, index, fencees.HTTP(client))
		return func(ctx context.Context) error {
			return s.Do(ctx, fence.Claim{Scope: "/a", Token: 7}, func(json.RawMessage) (json.RawMessage, error) { return json.RawMessage("1"), nil })
		}, err
	})
}
