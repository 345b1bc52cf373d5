package lab_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/service/all"
)

// TestEachFormHasAnID: what a step is done by is found by its ID, so no two forms that the
// scenarios of one lock service can have share theirs.
func TestEachFormHasAnID(t *testing.T) {
	for _, s := range lab.Language(all.Named).Services {
		usages := make(map[string]string)
		for _, f := range append(s.Forms, lab.Language(nil).Forms...) {
			if other, taken := usages[f.ID()]; taken {
				t.Errorf("%s: %q and %q have the ID %q", s.Name, other, f.Usage, f.ID())
			}
			usages[f.ID()] = f.Usage
		}
		for _, want := range []string{"client: lock", "clients: count KEY TIMES", "gcsim: pause CLIENT", "gcsim: pause storage", "SERVICE: await expiry of CLIENT"} {
			if usages[want] == "" {
				t.Errorf("%s: no form has the ID %q", s.Name, want)
			}
		}
	}
}
