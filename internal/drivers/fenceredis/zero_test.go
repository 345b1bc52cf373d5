package fenceredis_test

import (
	"strings"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fenceredis"
)

// TestZeroStore: it says what is missing.
func TestZeroStore(t *testing.T) {
	claim := fence.Claim{Scope: "/lock", Token: 1}
	_, err := fenceredis.Store{}.Do(t.Context(), claim)
	if err == nil || !strings.Contains(err.Error(), "has no Client") || fence.OutcomeOf(err) != fence.Definite {
		t.Errorf("got %v, want that it has no Client, and that it is definite", err)
	}
}
