package sqlite_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service/sqlite"
)

func TestStories(t *testing.T) {
	labtest.Tell(t, labtest.Stories(t, services[0]), lab.Options{Services: services})
}

// TestWaitIsNamed: a client that waits is known by the owner by which package sqllock gets the
// lock.
func TestWaitIsNamed(t *testing.T) {
	t.Parallel()
	s := services.Parse(t, "testdata/queue.yaml")[0]
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

// TestDeferredSettings: a transaction that reads needs something to read, and it alone can read too early.
func TestDeferredSettings(t *testing.T) {
	for settings, want := range map[[2]string]string{
		{"in: service", "by: deferred, too-old: again"}:  "",
		{"in: process", "by: deferred"}:                  `it needs "storage: {in: service}"`,
		{"in: service", "by: immediate, too-old: again"}: `leave "too-old" out`,
	} {
		file := "title: t\nworld: {sqlite: {}, storage: {" + settings[0] + "}}\nclients: {client1: {lock: /lock, " + settings[1] + "}}\n" +
			"steps:\n  - client1: lock\nvariants: {v: {expect: {verdict: safe}}}\n"
		_, err := lab.Language(services).Parse("x.yaml", "x", []byte(file))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", settings, err, want)
		}
	}
}
