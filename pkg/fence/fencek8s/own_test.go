package fencek8s_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencek8s"
)

const path = "/api/v1/namespaces/default/configmaps"

// TestRefuses: what is no address and no path.
func TestRefuses(t *testing.T) {
	for _, c := range []struct{ address, path, want string }{
		{"127.0.0.1:6443", path, "fencek8s: the address is none"},
		{"https://me:secret@127.0.0.1:6443", path, "fencek8s: the address is none"},
		{"https://127.0.0.1:6443", "configmaps", `fencek8s: the path "configmaps": want`},
		{"https://127.0.0.1:6443", path + "/orders", "want one like"},
	} {
		if _, err := fencek8s.New(c.address, c.path); err == nil || !strings.Contains(err.Error(), c.want) || fence.OutcomeOf(err) != fence.Definite {
			t.Errorf("%s, %s: %v", c.address, c.path, err)
		}
	}
	if _, err := fencek8s.New("https://127.0.0.1:6443/prefix", "/apis/example.com/v1/namespaces/a-b/orders"); err != nil {
		t.Error(err)
	}
}

// writer is the annotation that names the call of Do, which has another name each time.
var writer = regexp.MustCompile(`("fencelab.github.io/by":)"[A-Z2-7]{26}"`)

// server answers a read with an object, and a write with a status, and tells what is written.
func server(t *testing.T, object string, status int, said string) (s *fencek8s.Store, written *string) {
	t.Helper()
	written = new(string)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet && object == "":
			w.WriteHeader(http.StatusNotFound)
		case r.Method == http.MethodGet:
			fmt.Fprint(w, object)
		default:
			body, _ := io.ReadAll(r.Body)
			*written = r.Method + " " + r.URL.Path + " " + writer.ReplaceAllString(string(body), `$1"NAME"`)
			w.WriteHeader(status)
			fmt.Fprint(w, said)
		}
	}))
	t.Cleanup(web.Close)
	s, err := fencek8s.New(web.URL, path)
	if err != nil {
		t.Fatal(err)
	}
	return s, written
}

func keep(object []byte) ([]byte, error) { return object, nil }

// TestObject: what is written has the name, the label and the mark, and all other fields as they were.
func TestObject(t *testing.T) {
	for _, c := range []struct{ object, want string }{
		{"", `POST ` + path + ` {"metadata":{"annotations":{"fencelab.github.io/by":"NAME","fencelab.github.io/mark":"9007199254740993 3 0","fencelab.github.io/read":""},"labels":{"fencelab.github.io/fenced":"true"},"name":"orders","resourceVersion":""}}`},
		{`{"kind":"X","metadata":{"name":"orders","uid":"u","resourceVersion":"8","labels":{"a":"b"},"annotations":null},"big":9007199254740995}`,
			`PUT ` + path + `/orders {"big":9007199254740995,"kind":"X","metadata":{"annotations":{"fencelab.github.io/by":"NAME","fencelab.github.io/mark":"9007199254740993 3 0","fencelab.github.io/read":"8"},"labels":{"a":"b","fencelab.github.io/fenced":"true"},"name":"orders","resourceVersion":"8","uid":"u"}}`},
	} {
		s, written := server(t, c.object, http.StatusOK, `{"metadata":{"resourceVersion":"9"}}`)
		if err := s.Do(t.Context(), fence.Claim{Scope: "orders", Token: 9007199254740993, Sequence: 3}, keep); err != nil || *written != c.want {
			t.Errorf("%s\ngot  %s, %v\nwant %s", c.object, *written, err, c.want)
		}
	}
}

// TestErrors: each says what is wrong, and what is known.
func TestErrors(t *testing.T) {
	const object = `{"metadata":{"resourceVersion":"8"}}`
	annotated := func(mark string) string {
		return `{"metadata":{"resourceVersion":"8","annotations":{"fencelab.github.io/mark":"` + mark + `"}}}`
	}
	returns := func(text string) func([]byte) ([]byte, error) {
		return func([]byte) ([]byte, error) { return []byte(text), nil }
	}
	for _, c := range []struct {
		object string
		edit   func([]byte) ([]byte, error)
		status int
		said   string
		want   string
		known  fence.Outcome
	}{
		{object, keep, 422, `{"message":"denied: no mark"}`, "the API server answers 422: denied: no mark", fence.Definite},
		{"", keep, 404, `no such resource`, "the API server answers 404: no such resource", fence.Definite},
		{object, keep, 500, `{}`, "the API server answers 500: {}", fence.Unknown},
		{object, keep, 429, `{}`, "the API server answers 429", fence.Unknown},
		{object, keep, 200, "<html>", "the API server answers 200, and no object", fence.Unknown},
		{"", keep, 201, "{}", "the API server answers 201, and no object", fence.Unknown},
		{"{", keep, 0, "", "is no object of Kubernetes", fence.Definite},
		{annotated("none"), keep, 0, "", `is "none", which is no mark: want three numbers`, fence.Definite},
		{annotated("1 2"), keep, 0, "", `is "1 2", which is no mark`, fence.Definite},
		{annotated("1 0 0 0"), keep, 0, "", `is "1 0 0 0", which is no mark`, fence.Definite},
		{annotated("9223372036854775808 0 0"), keep, 0, "", "which is no mark", fence.Definite},
		{object, func([]byte) ([]byte, error) { return nil, nil }, 0, "", "Do deletes none", fence.Definite},
		{object, returns("null"), 0, "", "what edit returned", fence.Definite},
		{object, returns("[]"), 0, "", "what edit returned", fence.Definite},
		{object, returns(`{"metadata":{"labels":{"a":1}}}`), 0, "", "what edit returned", fence.Definite},
	} {
		s, _ := server(t, c.object, c.status, c.said)
		err := s.Do(t.Context(), fence.Claim{Scope: "orders", Token: 34}, c.edit)
		if err == nil || !strings.Contains(err.Error(), c.want) || fence.OutcomeOf(err) != c.known {
			t.Errorf("%s, %d: got %v, %v; want %s, %v", c.object, c.status, err, fence.OutcomeOf(err), c.want, c.known)
		}
	}
	s, _ := server(t, object, 200, "{}")
	for _, scope := range []string{"", strings.Repeat("x", 254)} {
		if err := s.Do(t.Context(), fence.Claim{Scope: scope, Token: 34}, keep); !errors.Is(err, fence.ErrInvalidScope) {
			t.Errorf("%.10q: %v", scope, err)
		}
	}
}

// TestEdit: an edit has a decoded object, and its error stays what it is.
func TestEdit(t *testing.T) {
	add := fencek8s.Edit(func(m *ConfigMap) error { m.Data = map[string]string{"n": m.Data["n"] + "1"}; return nil })
	for object, want := range map[string]string{"": `{"data":{"n":"1"}}`, `{"data":{"n":"2"}}`: `{"data":{"n":"21"}}`} {
		in := []byte(object)
		if object == "" {
			in = nil
		}
		if got, err := add(in); string(got) != want || err != nil {
			t.Errorf("%s: got %s, %v", object, got, err)
		}
	}
	fails := errors.New("fails")
	if _, err := fencek8s.Edit(func(*ConfigMap) error { return fails })(nil); err != fails {
		t.Errorf("got %v", err)
	}
	var syntax *json.SyntaxError
	if _, err := add([]byte("{")); !errors.As(err, &syntax) {
		t.Errorf("no JSON: %v", err)
	}
}
