package fenceetcd_test

import (
	"strings"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fenceetcd"
)

// TestZeroStore: it says what is missing.
func TestZeroStore(t *testing.T) {
	claim := fence.Claim{Scope: "/lock", Token: 1}
	_, err := fenceetcd.Store{}.Do(t.Context(), claim)
	if err == nil || !strings.Contains(err.Error(), "has no KV") || fence.OutcomeOf(err) != fence.Definite {
		t.Errorf("got %v, want that it has no KV, and that it is definite", err)
	}
}
