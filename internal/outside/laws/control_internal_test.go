package laws

import "testing"

// TestControlCharacters: a terminal is sent none of a request's, and a shell is asked for none.
func TestControlCharacters(t *testing.T) {
	for header, want := range map[string]struct {
		asked   string
		untyped bool
	}{
		"Fencing-Scope: lock é": {"PUT /v1/kv/a, Fencing-Scope: lock é", false},
		"Fencing-Scope: l\x00k": {`"PUT /v1/kv/a, Fencing-Scope: l\x00k"`, true},
		"Fencing-Scope: l\x1bk": {`"PUT /v1/kv/a, Fencing-Scope: l\x1bk"`, true},
	} {
		e := Exchange{Method: "PUT", Path: "/v1/kv/a", Header: []string{header}}
		if got := e.asked(); got != want.asked || untyped(e) != want.untyped {
			t.Errorf("%q: %s, %v, want %+v", header, got, untyped(e), want)
		}
	}
}
