package laws

import (
	"fmt"
	"net/http"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// connectionsKeepNothing shows requests that the connection's earlier ones could complete.
func connectionsKeepNothing(s *steps) {
	other := fencehttp.HeaderScope + ": " + s.name("other")
	scope, put := s.scope(), http.MethodPut
	smuggled := fmt.Sprintf("PUT %s HTTP/1.1\r\nHost: storage\r\n%s\r\n%s\r\nContent-Length: 5\r\n\r\nstale", s.path(key), scope, token("35"))
	answered := func(e Exchange, what string) { s.answer(e, what) }
	for _, step := range []struct {
		want func(Exchange, string)
		what string
		Exchange
	}{
		{s.done, "a write with token 35", s.asking(put, "kept", scope, token("35"))},
		{s.refused, "a write without a token, after one with a token,", s.asking(put, "stale", scope)},
		{s.refused, "a delete without a token, after a write with one,", s.asking(http.MethodDelete, "", scope)},
		{s.done, "a write in another scope", Exchange{Method: put, Path: s.path("other"), Header: []string{other, token("1")}, Body: "other"}},
		{s.refused, "a stale write that names no scope, after one in another scope,", s.asking(put, "stale", token("34"))},
		{s.refused, "a stale write whose body is itself a request", s.asking(put, smuggled, scope, token("34"))},
		{answered, "a read", s.asking(http.MethodGet, "")},
	} {
		step.Kept = true
		step.want(step.Exchange, step.what)
		s.stays("kept", step.what)
	}
	s.write(34, "stale", fence.ErrStale)
}
