package etcdlock_test

import (
	"strings"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

// TestZeroBackend: one that no function of the package has made says so.
func TestZeroBackend(t *testing.T) {
	b := new(etcdlock.Backend)
	_, locked := b.Lock(t.Context(), scope)
	_, inspected := b.Inspect(t.Context(), scope)
	for _, err := range []error{locked, inspected} {
		if err == nil || !strings.Contains(err.Error(), "was not made by New") || fence.OutcomeOf(err) != fence.Definite {
			t.Errorf("got %v, want that New did not make it, and that it is definite", err)
		}
	}
}
