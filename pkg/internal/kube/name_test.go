package kube

import (
	"errors"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
)

// TestName: two scopes never have one name, and Kubernetes takes each name.
func TestName(t *testing.T) {
	for scope, want := range map[string]string{
		"orders": "orders", "orders.v1-7": "orders.v1-7", "/orders/7": "scope--2forders-2f7", "Orders": "scope--4frders",
		"a..b": "scope-a-2e-2eb", "a-.b": "scope-a-2d-2eb", "-": "scope--2d", "ü ": "scope--c3-bc-20",
		"scope-a": "scope-scope-2da", "scope--2forders-2f7": "scope-scope-2d-2d2forders-2d2f7",
		strings.Repeat("a", longest): strings.Repeat("a", longest),
	} {
		got, err := Name(scope)
		if got != want || err != nil {
			t.Errorf("%q: got %q, %v, want %q", scope, got, err, want)
		}
		if !plain.MatchString(got) {
			t.Errorf("%q: Kubernetes takes no name like %q", scope, got)
		}
	}
	for _, scope := range []string{"", strings.Repeat("a", longest+1), strings.Repeat("/", longest/3)} {
		if got, err := Name(scope); !errors.Is(err, fence.ErrInvalidScope) {
			t.Errorf("%.10q: got %q, %v", scope, got, err)
		}
	}
}
