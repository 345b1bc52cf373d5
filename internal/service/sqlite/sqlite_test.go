package sqlite_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/sqlite"
)

// The test binary is its own storage, clients and janitor.
func TestMain(m *testing.M) { labtest.Main(m, services, 4) }

// services are those of these tests.
var services = []*service.Service{sqlite.Service()}

func TestStories(t *testing.T) {
	labtest.Each(t, labtest.Stories(t, services[0]), func(t *testing.T, s *scenario.Scenario, v *scenario.Variant) {
		labtest.Run(t, s, v, lab.Options{Services: services})
	})
}

// TestWaitIsNamed: a client that waits is known by the owner by which package sqllock gets the
// lock.
func TestWaitIsNamed(t *testing.T) {
	t.Parallel()
	s := labtest.Parse(t, services, "testdata/queue.yaml")[0]
	i := slices.IndexFunc(s.Variants, func(v scenario.Variant) bool { return v.Name == "token" })
	var waits, granted string
	for _, e := range labtest.Run(t, s, &s.Variants[i], lab.Options{Services: services}) {
		switch {
		case e.Kind == history.KindNote && e.Op == "queue":
			waits = e.Tenure
		case e.Kind == history.KindGranted && e.Client == "client2" && granted == "":
			granted = e.Tenure
		}
	}
	if waits == "" || waits != granted {
		t.Errorf("%q waits, and %q gets the lock", waits, granted)
	}
}

// TestNoFileOfAnother: a run joins no file that is there already.
func TestNoFileOfAnother(t *testing.T) {
	const file, want = "/tmp/x.db", "a file of its own"
	if _, _, err := sqlite.Service().At(file); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("--sqlite: %v, want %s", err, want)
	}
	if err := sqlite.Service().Reach(t.Context(), []string{file}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("--endpoints: %v, want %s", err, want)
	}
}
