package laws

import (
	"context"
	"fmt"
	"net/http"

	"github.com/fencelab/fencelab/internal/foreign"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// kept makes a request on the connection of the one before, if the storage has left it open.
// Who closes connections may do that right under a request: then it is made once more.
func (s *steps) kept(e Exchange) (a foreign.Answer, err error) {
	e.Kept = true
	if a, err = s.client.ask(s.ctx, s.base, e); err != nil {
		e.Kept = false
		a, err = s.client.ask(s.ctx, s.base, e)
	}
	return a, err
}

// connectionsKeepNothing shows requests that the connection's earlier ones could complete.
func connectionsKeepNothing(ctx context.Context, j *judge) error {
	s, err := j.beginWire(ctx)
	if err != nil {
		return err
	}
	other := fencehttp.HeaderScope + ": " + s.name("other")
	path, scope := s.path(key), s.scope()
	smuggled := fmt.Sprintf("PUT %s HTTP/1.1\r\nHost: storage\r\n%s\r\n%s\r\nContent-Length: 5\r\n\r\nstale", path, scope, token("35"))
	for _, step := range []struct {
		what string
		Exchange
		admitted bool
	}{
		{"a write with token 35", Exchange{Method: http.MethodPut, Path: path, Header: []string{scope, token("35")}, Body: "kept"}, true},
		{"a write without a token, after one with a token,", Exchange{Method: http.MethodPut, Path: path, Header: []string{scope}, Body: "stale"}, false},
		{"a delete without a token, after a write with one,", Exchange{Method: http.MethodDelete, Path: path, Header: []string{scope}}, false},
		{"a write in another scope", Exchange{Method: http.MethodPut, Path: s.path("other"), Header: []string{other, token("1")}, Body: "other"}, true},
		{"a stale write that names no scope, after one in another scope,", Exchange{Method: http.MethodPut, Path: path, Header: []string{token("34")}, Body: "stale"}, false},
		{"a stale write whose body is itself a request", Exchange{Method: http.MethodPut, Path: path, Header: []string{scope, token("34")}, Body: smuggled}, false},
		{"a read", Exchange{Method: http.MethodGet, Path: path}, true},
	} {
		a, err := s.kept(step.Exchange)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", step.what, err)
		case step.admitted && !a.OK() && step.Method != http.MethodGet:
			return fmt.Errorf("%s: the storage answered %v, want it admitted", step.what, a)
		case !step.admitted && !a.Refused():
			return fmt.Errorf("%s: the storage answered %v, want it refused", step.what, a)
		}
		if s.stays("kept", step.what); s.err != nil {
			return s.err
		}
	}
	s.write(34, "stale", fence.ErrStale)
	return s.err
}
