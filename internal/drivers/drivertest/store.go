package drivertest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/tools/need"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// LawsOfStore puts a store to all laws in the long form. Else it leaves most races to the night, which take the most time:
// the laws of what is one step.
func LawsOfStore(t *testing.T, s fencetest.Subject) {
	t.Helper()
	if need.Long() {
		fencetest.Run(t, s)
		return
	}
	races := []string{"CheckAndWriteAreOneStep", "FirstClaimsAreOneStep"}
	check(t, s, func(law string) bool { return !strings.HasSuffix(law, "Step") || slices.Contains(races, law) })
}

// RestartsOfStore puts a store to the laws that restart it. A start takes long, so all of them are checked in the long form
// alone.
func RestartsOfStore(t *testing.T, s fencetest.Subject) {
	t.Helper()
	check(t, s, func(law string) bool {
		return law == "RestartKeepsBothMarks" || strings.HasPrefix(law, "Restart") && need.Long()
	})
}

// check puts a store to some of the laws, each in a test of its own.
func check(t *testing.T, s fencetest.Subject, some func(law string) bool) {
	t.Helper()
	for _, law := range fencetest.Laws {
		if !some(law.Name) {
			continue
		}
		t.Run(law.Name, func(t *testing.T) {
			switch err := law.Check(t.Context(), s); {
			case errors.Is(err, fencetest.ErrNotApplicable):
				t.Skip(err)
			case err != nil:
				t.Errorf("%s\n%v", law.Doc, err)
			}
		})
	}
}
