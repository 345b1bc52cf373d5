package hunt

import (
	"slices"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
)

// TestPlainer: a client that does nothing goes, and each setting can get its default. The world itself stays as it was, and
// what is left can be read as a scenario.
func TestPlainer(t *testing.T) {
	w := worldOf(t, "redis/03-del-successor/del")
	step, err := w.language.Tell(w.Scenario, w.Variant).Parse("client1: lock")
	if err != nil {
		t.Fatal(err)
	}
	steps := []scenario.Step{step}
	small := w.copied()
	changed := 0
	for _, change := range w.plainer(steps) {
		if change(small) {
			changed++
		}
	}
	if !slices.Equal(small.Scenario.Clients, []string{"client1"}) || len(small.Variant.Clients) != 1 || changed < 2 {
		t.Errorf("%d changes left the clients %q", changed, small.Scenario.Clients)
	}
	for _, s := range w.service.Client {
		if value, given := small.Variant.Clients["client1"].Values[s.Name]; given && value != s.Default {
			t.Errorf("%s is still %s", s.Name, value)
		}
	}
	if again := slices.ContainsFunc(w.plainer(steps), func(change func(*World) bool) bool { return change(small) }); again {
		t.Error("there was more to change")
	}
	if len(w.Scenario.Clients) < 2 || len(w.Variant.Clients) < 2 {
		t.Errorf("the world has lost clients: %q", w.Scenario.Clients)
	}
	f := &Finding{World: w, Kind: history.Blocked + ": " + string(history.NotGranted), Steps: steps, smaller: small}
	if !f.parses() {
		t.Error("what is left is no scenario")
	}
}

// TestPossible: with a step that goes, those go that cannot come without it.
func TestPossible(t *testing.T) {
	w := worldOf(t, "etcd/01-gc-pause/fenced")
	telling := w.language.Tell(w.Scenario, w.Variant)
	for _, line := range []string{"client1: lock", "gcsim: pause client1", "client2: lock", "gcsim: resume client1", "gcsim: kill storage", "gcsim: restart storage"} {
		if _, err := telling.Take(line); err != nil {
			t.Fatal(err)
		}
	}
	all := telling.Told()
	for name, tt := range map[string]struct {
		steps []scenario.Step
		want  int
	}{
		"all": {all, 6}, "without the pause": {without(all, 1), 4}, "the storage stays dead": {without(all, 5), 0},
	} {
		if got := w.possible(tt.steps); len(got) != tt.want {
			t.Errorf("%s: %d steps are left, want %d", name, len(got), tt.want)
		}
	}
}
