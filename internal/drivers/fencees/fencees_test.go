// Package fencees_test has the tests of fencees that need a node.
package fencees_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/service/elasticsearch/estest"
	"github.com/fencelab/fencelab/internal/tools/need"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencees"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// node is that of all tests but those that restart one.
var node estest.Node

func TestMain(m *testing.M) { estest.Main(m, &node) }

// store is the smallest store on the package: the data of a scope are its keys.
type store struct {
	*fencees.Store
	name string
}

func keys(data json.RawMessage) (map[string]string, error) {
	all := make(map[string]string)
	if data == nil {
		return all, nil
	}
	return all, json.Unmarshal(data, &all)
}

// change changes the keys of a scope.
func (s store) change(ctx context.Context, c fence.Claim, edit func(map[string]string) error) error {
	return s.Do(ctx, c, func(data json.RawMessage) (json.RawMessage, error) {
		all, err := keys(data)
		if err != nil {
			return nil, err
		}
		if err := edit(all); err != nil {
			return nil, err
		}
		if len(all) == 0 {
			return nil, nil
		}
		return json.Marshal(all)
	})
}

func (s store) Write(ctx context.Context, c fence.Claim, key, value string) error {
	return s.change(ctx, c, func(all map[string]string) error {
		all[key] = value
		return nil
	})
}

func (s store) Delete(ctx context.Context, c fence.Claim, key string) error {
	return s.change(ctx, c, func(all map[string]string) error {
		delete(all, key)
		return nil
	})
}

func (s store) Read(ctx context.Context, c fence.Claim, key string) (value string, ok bool, err error) {
	found := make(map[string]string)
	if c.Token == 0 {
		data, _, err := s.Store.Read(ctx, c.Scope)
		if err != nil {
			return "", false, err
		}
		found, err = keys(data)
		if err != nil {
			return "", false, err
		}
	} else if err := s.change(ctx, c, func(all map[string]string) error {
		found = maps.Clone(all)
		return nil
	}); err != nil {
		return "", false, err
	}
	value, ok = found[key]
	return value, ok, nil
}

// fail is a write that fails after it has changed what it was given.
func fail(ctx context.Context, s fencetest.Store, c fence.Claim, key, value string) error {
	return s.(store).change(ctx, c, func(all map[string]string) error {
		all[key] = value
		return errors.New("half done")
	})
}

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
		return store{s, name}, s.Create(ctx)
	}
	return fencetest.Subject{
		Open: func(ctx context.Context) (fencetest.Store, error) { return open(ctx, newIndex(), nil) },
		OpenBounded: func(ctx context.Context, bound fence.Token) (fencetest.Store, error) {
			return open(ctx, newIndex(), func(fence.Claim) (fence.Token, error) { return bound, nil })
		},
		Second: func(ctx context.Context, s fencetest.Store) (fencetest.Store, error) {
			return open(ctx, s.(store).name, nil)
		},
		Fail:     fail,
		Idle:     time.Second,
		MaxScope: 512,
		Marks:    300,
	}
}

func TestLaws(t *testing.T) { fencetest.Run(t, subject(node.Get(t).Addr)) }

// TestLawsOfRestarts: a node that is killed and started again has all marks. A start takes long, so
// all laws are checked in the long form alone.
func TestLawsOfRestarts(t *testing.T) {
	own := estest.Start(t)
	s := subject(own.Addr)
	s.Restart = func(ctx context.Context, old fencetest.Store) (fencetest.Store, error) {
		return old, errors.Join(own.Kill(), own.Restart(ctx))
	}
	for _, law := range fencetest.Laws {
		if !strings.HasPrefix(law.Name, "Restart") || law.Name != "RestartKeepsBothMarks" && !need.Long() {
			continue
		}
		t.Run(law.Name, func(t *testing.T) {
			if err := law.Check(t.Context(), s); err != nil {
				t.Errorf("%s\n%v", law.Doc, err)
			}
		})
	}
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
