package program_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/outside/program"
	"github.com/fencelab/fencelab/pkg/fence"
)

// contribStorage does as contrib/lock's own storage: it refuses each version that differs.
func contribStorage(asked chan<- string) http.HandlerFunc {
	versions, values := make(map[string]fence.Token), make(map[string]string)
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked <- r.Method + " " + r.URL.Path + " " + r.Header.Get("Fencing-Token") + string(body)
		var in program.ContribRequest
		_ = json.Unmarshal(body, &in)
		said := ""
		switch version, there := versions[in.Key]; {
		case in.Op == "read" && !there:
			said = "key not found"
		case in.Op == "write" && there && version != in.Version:
			said = "given version is different from the existing version"
		case in.Op == "write" && in.Val == "odd":
			said = "the disk is full"
		case in.Op == "write":
			versions[in.Key], values[in.Key] = in.Version, in.Val
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"val": values[in.Key], "version": versions[in.Key], "err": said})
	}
}

// TestContrib: what clients ask by /v1 goes on as POST /, and the account has what came of it.
func TestContrib(t *testing.T) {
	asked := make(chan string, 1)
	base, _, told := gate(t, serve(t, contribStorage(asked)), time.Minute, func(g *program.Gate) { g.Contrib, g.Prefix = true, "run-" })
	for _, tt := range []struct {
		method, key, value string
		token              fence.Token
		want               string // what the storage is asked
		status             int
		answer             string
	}{
		{http.MethodGet, "a", "", 0, `{"op":"read","key":"run-a","val":"","version":0}`, http.StatusNotFound, "no such key"},
		{http.MethodPut, "a", "x", 34, `{"op":"write","key":"run-a","val":"x","version":34}`, http.StatusNoContent, ""},
		{http.MethodGet, "a", "", 33, `{"op":"read","key":"run-a","val":"","version":0}`, http.StatusOK, "x"},
		{http.MethodPut, "a", "y", 33, `{"op":"write","key":"run-a","val":"y","version":33}`, http.StatusPreconditionFailed, "stale"},
		{http.MethodPut, "a", "z", 0, `{"op":"write","key":"run-a","val":"z","version":0}`, http.StatusPreconditionRequired, "token"},
	} {
		resp, text := ask(t, t.Context(), base, tt.method, tt.key, fence.Claim{Scope: "/lock", Token: tt.token}, strings.NewReader(tt.value), int64(len(tt.value)))
		if got := <-asked; got != "POST / "+tt.want {
			t.Errorf("the storage was asked %s, want %s", got, tt.want)
		}
		if resp == nil || resp.StatusCode != tt.status || !strings.Contains(text, tt.answer) {
			t.Errorf("%s: the client got %v %q, want %d", tt.want, resp, text, tt.status)
		}
	}
	want := "1 applied read a= missing\n2 applied write a=x\n3 applied read a=x\n4 refused write a=y stale 0\n5 refused write a=z missing 0\n"
	if got := told.lines(); got != want {
		t.Errorf("the account is\n%s, want\n%s", got, want)
	}
	if e := told.events[3]; e.Token != 33 || e.Scope != "/lock" {
		t.Errorf("the refusal is %+v", e)
	}
}

// TestContribSaysNothing: an answer that means nothing ends the run, and what the protocol has no
// word for does not go on.
func TestContribSaysNothing(t *testing.T) {
	asked := make(chan string, 1)
	base, _, told := gate(t, serve(t, contribStorage(asked)), time.Minute, func(g *program.Gate) { g.Contrib = true })
	write(t, base, "a", "odd", 34)
	<-asked
	if want := `answered 200 OK: {"err":"the disk is full"`; len(told.failed) != 1 || !strings.Contains(fmt.Sprint(told.failed), want) ||
		!strings.Contains(fmt.Sprint(told.failed), `(asked: POST / {"op":"write","key":"a","val":"odd","version":34})`) {
		t.Errorf("the run is told %q, want %q and what was asked", told.failed, want)
	}
	if resp, text := ask(t, t.Context(), base, http.MethodDelete, "a", fence.Claim{Token: 34}, strings.NewReader(""), 0); resp == nil || resp.StatusCode != http.StatusBadRequest {
		t.Errorf("a delete: %v %q", resp, text)
	}
	if status, text := write(t, base, "a", "\xff", 34); status != http.StatusBadGateway || !strings.Contains(text, "UTF-8") {
		t.Errorf("a value that is no text: %d %q", status, text)
	}
	if told.lines() != "" {
		t.Errorf("the account is %q", told.lines())
	}
}
