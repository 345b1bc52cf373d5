// Package fencek8s_test has the tests of fencek8s that need an API server.
package fencek8s_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/drivers/drivertest"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdcmd"
	"github.com/fencelab/fencelab/internal/service/kubernetes/kubeproc"
	"github.com/fencelab/fencelab/internal/service/kubernetes/kubeproc/kubetest"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencek8s"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

func TestMain(m *testing.M) { proctest.Main(m, kubeproc.Command(), etcdcmd.Command()) }

const deadline = time.Minute // for what is sure to happen

// server is an API server with the policy in force.
type server struct {
	*kubeproc.Cluster
	client *http.Client
}

func start(t *testing.T) server {
	t.Helper()
	s := server{kubetest.Start(t), kubetest.Client()}
	for part := range strings.SplitSeq(fencek8s.Policy(), "\n---\n") {
		path := "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
		if strings.Contains(part, "\nkind: ValidatingAdmissionPolicyBinding\n") {
			path = strings.Replace(path, "policies", "policybindings", 1)
		}
		if status, said := s.send(t, http.MethodPost, path, "application/yaml", part); status != http.StatusCreated {
			t.Fatalf("the policy: %d: %s", status, said)
		}
	}
	s.await(t)
	return s
}

// await returns when the policy is in force, which the API server hears of a little later. It makes nothing.
func (s server) await(t *testing.T) {
	t.Helper()
	const object = `{"metadata":{"name":"probe","labels":{"fencelab.github.io/fenced":"true"}}}`
	for begun := time.Now(); ; {
		status, said := s.send(t, http.MethodPost, configmaps("default")+"?dryRun=All", "application/json", object)
		if status == http.StatusUnprocessableEntity && strings.Contains(said, "is not a mark") {
			return
		}
		if time.Since(begun) > deadline {
			t.Fatalf("the policy is not in force: %d: %s", status, said)
		}
	}
}

func configmaps(namespace string) string { return "/api/v1/namespaces/" + namespace + "/configmaps" }

// send sends a request, and returns the answer's status and text.
func (s server) send(t *testing.T, method, path, kind, body string) (status int, said string) {
	t.Helper()
	status, said, err := kubetest.Send(t.Context(), s.client, method, s.API.Addr, path, kind, body)
	if err != nil {
		t.Fatal(err)
	}
	return status, said
}

func (s server) store(namespace string) (*fencek8s.Store, error) {
	return fencek8s.New("https://"+s.API.Addr, configmaps(namespace), fencek8s.HTTP(s.client))
}

// configMap has the data of a scope as a text.
type configMap struct {
	Metadata json.RawMessage   `json:"metadata,omitempty"`
	Data     map[string]string `json:"data,omitempty"`
}

func textOf(object []byte) ([]byte, error) {
	var m configMap
	if object == nil {
		return nil, nil
	}
	err := json.Unmarshal(object, &m)
	if text, has := m.Data["text"]; has {
		return []byte(text), err
	}
	return nil, err
}

// subject makes stores, each a namespace.
func subject(srv server) fencetest.Subject {
	open := func(name string, bound func(fence.Claim) (fence.Token, error)) (fencetest.Store, error) {
		s, err := srv.store(name)
		if err != nil {
			return nil, err
		}
		s.Bound = bound
		return drivertest.Document{Name: name, Change: func(ctx context.Context, c fence.Claim, edit func([]byte) ([]byte, error)) error {
			return s.Do(ctx, c, fencek8s.Edit(func(m *configMap) error {
				var data []byte
				if text, has := m.Data["text"]; has {
					data = []byte(text)
				}
				data, err := edit(data)
				m.Data = nil
				if data != nil {
					m.Data = map[string]string{"text": string(data)}
				}
				return err
			}))
		}, Look: func(ctx context.Context, scope string) ([]byte, fence.Mark, error) {
			object, mark, err := s.Read(ctx, scope)
			if err != nil {
				return nil, mark, err
			}
			text, err := textOf(object)
			return text, mark, err
		}}, nil
	}
	create := func(ctx context.Context, bound func(fence.Claim) (fence.Token, error)) (fencetest.Store, error) {
		name := strings.ToLower(rand.Text())
		status, said, err := kubetest.Send(ctx, srv.client, http.MethodPost, srv.API.Addr, "/api/v1/namespaces", "application/json", fmt.Sprintf(`{"metadata":{"name":%q}}`, name))
		if err == nil && status != http.StatusCreated {
			err = fmt.Errorf("the namespace %s: %d: %s", name, status, said)
		}
		if err != nil {
			return nil, err
		}
		return open(name, bound)
	}
	return fencetest.Subject{
		Open: func(ctx context.Context) (fencetest.Store, error) { return create(ctx, nil) },
		OpenBounded: func(ctx context.Context, bound fence.Token) (fencetest.Store, error) {
			return create(ctx, func(fence.Claim) (fence.Token, error) { return bound, nil })
		},
		Second: func(ctx context.Context, s fencetest.Store) (fencetest.Store, error) {
			return open(s.(drivertest.Document).Name, nil)
		},
		Fail:     drivertest.FailDocument,
		Idle:     time.Second,
		MaxScope: 253,
		Marks:    300,
	}
}

func TestLaws(t *testing.T) { drivertest.LawsOfStore(t, subject(start(t))) }

// TestLawsOfRestarts: an API server that is killed, as its etcd is, and started again has all marks.
func TestLawsOfRestarts(t *testing.T) {
	srv := start(t)
	s := subject(srv)
	s.Restart = func(ctx context.Context, old fencetest.Store) (fencetest.Store, error) {
		return old, errors.Join(srv.API.Kill(), srv.Etcd.Kill(), srv.Etcd.Restart(ctx), srv.API.Restart(ctx))
	}
	drivertest.RestartsOfStore(t, s)
}

// TestPolicy: the API server refuses who does not go through the package and shows no token, an old one, or what is none.
func TestPolicy(t *testing.T) {
	srv := start(t)
	store, err := srv.store("default")
	if err != nil {
		t.Fatal(err)
	}
	write := func(token fence.Token, text string) error {
		return store.Do(t.Context(), fence.Claim{Scope: "orders", Token: token}, fencek8s.Edit(func(m *configMap) error {
			m.Data = map[string]string{"text": text}
			return nil
		}))
	}
	if err := write(34, "first"); err != nil {
		t.Fatal(err)
	}
	orders := configmaps("default") + "/orders"
	// version is the object's resourceVersion.
	version := func() string {
		_, said := srv.send(t, http.MethodGet, orders, "application/json", "")
		var m struct {
			Metadata struct{ ResourceVersion string }
		}
		if err := json.Unmarshal([]byte(said), &m); err != nil {
			t.Fatalf("%s: %v", said, err)
		}
		return m.Metadata.ResourceVersion
	}
	const merge, plain = "application/merge-patch+json", "application/json"
	patch := func(mark, read string) string {
		return fmt.Sprintf(`{"metadata":{"annotations":{"fencelab.github.io/mark":%s,"fencelab.github.io/read":%q}},"data":{"text":"bypass"}}`, mark, read)
	}
	const ok = ""
	for _, c := range []struct{ name, method, kind, body, want string }{
		{"a patch without a token", http.MethodPatch, merge, `{"data":{"text":"bypass"}}`, "is not the object's resourceVersion"},
		{"an object without annotations", http.MethodPut, plain, `{"metadata":{"name":"orders","labels":{"fencelab.github.io/fenced":"true"}},"data":{"text":"bypass"}}`, "is not a mark"},
		{"an object without the label", http.MethodPut, plain, `{"metadata":{"name":"orders"},"data":{"text":"bypass"}}`, "is not a mark"},
		{"an old token", http.MethodPatch, merge, patch(`"33 0 0"`, version()), "stale token: the mark 33 0 0 is older than that of the object, 34 0 0"},
		{"a token that is text", http.MethodPatch, merge, patch(`"x"`, version()), "is not a mark"},
		{"a token below zero", http.MethodPatch, merge, patch(`"-1 0 0"`, version()), "is not a mark"},
		{"a token without the rest", http.MethodPatch, merge, patch(`"35"`, version()), "is not a mark"},
		{"a token of more than 63 bits", http.MethodPatch, merge, patch(`"9223372036854775808 0 0"`, version()), "resulted in error"},
		{"no mark", http.MethodPatch, merge, patch(`null`, version()), "is not a mark"},
		{"an older object", http.MethodPatch, merge, patch(`"35 0 0"`, "1"), "is not the object's resourceVersion"},
		{"a delete", http.MethodDelete, plain, "", "a delete would lose the fencing mark"},
		{"a new object with no mark", http.MethodPost, plain, `{"metadata":{"name":"other","labels":{"fencelab.github.io/fenced":"true"}}}`, "is not a mark"},
		{"the equal token", http.MethodPatch, merge, patch(`"34 0 0"`, version()), ok},
	} {
		path := orders
		if c.method == http.MethodPost {
			path = configmaps("default")
		}
		status, said := srv.send(t, c.method, path, c.kind, c.body)
		if c.want == ok && status != http.StatusOK || c.want != ok && (status != http.StatusUnprocessableEntity || !strings.Contains(said, c.want)) {
			t.Errorf("%s: got %d, %s\nwant %q", c.name, status, said, c.want)
		}
		text := []byte("first")
		if c.want == ok {
			text = []byte("bypass")
		}
		object, mark, err := store.Read(t.Context(), "orders")
		if got, _ := textOf(object); !bytes.Equal(got, text) || err != nil || mark != (fence.Mark{Token: 34}) {
			t.Errorf("%s: then there are %s, %+v, %v", c.name, got, mark, err)
		}
	}
	// The policy is in force again after a restart, for the first request as well.
	if err := errors.Join(srv.API.Kill(), srv.API.Restart(t.Context())); err != nil {
		t.Fatal(err)
	}
	srv.client.CloseIdleConnections()
	if status, said := srv.send(t, http.MethodPatch, orders, merge, patch(`"33 0 0"`, version())); status == http.StatusOK {
		t.Errorf("after a restart: an old token is taken: %s", said)
	}
	if err := write(35, "second"); err != nil {
		t.Error(err)
	}
	if err := write(34, "late"); !errors.Is(err, fence.ErrStale) {
		t.Errorf("a stale token: %v", err)
	}
}

// TestPolicyOfMarks: a mark that refuses less than the object's mark is refused, in each of its numbers.
func TestPolicyOfMarks(t *testing.T) {
	srv := start(t)
	n := 0
	for _, c := range []struct {
		before, after string
		taken         bool
	}{
		{"5 3 0", "5 3 0", true}, {"5 3 0", "5 2 0", false}, {"5 3 0", "6 0 0", true}, {"5 3 0", "4 9 0", false},
		{"5 0 8", "5 0 8", true}, {"5 0 8", "5 0 7", false}, {"5 0 8", "7 0 0", false}, {"5 0 8", "8 0 0", true},
		{"5 0 8", "6 0 9", true}, {"5 0 0", "4 0 9", false}, {"9 0 0", "10 0 0", true}, {"10 0 0", "9 0 0", false},
		{"9007199254740993 0 0", "9007199254740992 0 0", false}, {"9223372036854775806 0 0", "9223372036854775807 0 0", true},
	} {
		n++
		name := fmt.Sprint("mark", n)
		object := func(mark, read string) string {
			return fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"fencelab.github.io/fenced":"true"},"annotations":{"fencelab.github.io/mark":%q,"fencelab.github.io/read":%q}}}`, name, mark, read)
		}
		status, said := srv.send(t, http.MethodPost, configmaps("default"), "application/json", object(c.before, ""))
		var m struct {
			Metadata struct{ ResourceVersion string }
		}
		if err := json.Unmarshal([]byte(said), &m); err != nil || status != http.StatusCreated {
			t.Fatalf("%s: %d, %s, %v", c.before, status, said, err)
		}
		status, said = srv.send(t, http.MethodPut, configmaps("default")+"/"+name, "application/json", object(c.after, m.Metadata.ResourceVersion))
		if taken := status == http.StatusOK; taken != c.taken {
			t.Errorf("%s after %s: %d, %s", c.after, c.before, status, said)
		}
	}
}
