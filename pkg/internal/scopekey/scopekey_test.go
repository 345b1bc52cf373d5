package scopekey

import (
	"errors"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
)

// TestOf: two scopes never have one key, and a key has no sign that means something in a subject of NATS.
func TestOf(t *testing.T) {
	for scope, want := range map[string]string{
		"/orders/7": "/orders/7", "a.b": "a=2Eb", "a=2Eb": "a=3D2Eb", "*": "=2A", ">": "=3E", "ü ": "=C3=BC=20",
	} {
		if got, err := Of(scope); got != want || err != nil {
			t.Errorf("%q: got %q, %v, want %q", scope, got, err, want)
		}
	}
	for _, scope := range []string{"", strings.Repeat("x", longest+1)} {
		if got, err := Of(scope); !errors.Is(err, fence.ErrInvalidScope) {
			t.Errorf("%.10q: got %q, %v", scope, got, err)
		}
	}
}
