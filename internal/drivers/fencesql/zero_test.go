package fencesql_test

import (
	"strings"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencesql"
)

// TestZeroStore: it says what is missing.
func TestZeroStore(t *testing.T) {
	claim := fence.Claim{Scope: "/lock", Token: 1}
	err := new(fencesql.Store).Do(t.Context(), claim, nil)
	if err == nil || !strings.Contains(err.Error(), "has no DB") || fence.OutcomeOf(err) != fence.Definite {
		t.Errorf("got %v, want that it has no DB, and that it is definite", err)
	}
}
