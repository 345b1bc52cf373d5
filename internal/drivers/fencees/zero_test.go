package fencees_test

import (
	"strings"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencees"
)

// TestZeroStore: it says what is missing.
func TestZeroStore(t *testing.T) {
	claim := fence.Claim{Scope: "/lock", Token: 1}
	err := new(fencees.Store).Do(t.Context(), claim, nil)
	if err == nil || !strings.Contains(err.Error(), "was not made by New") || fence.OutcomeOf(err) != fence.Definite {
		t.Errorf("got %v, want that it was not made by New, and that it is definite", err)
	}
}
