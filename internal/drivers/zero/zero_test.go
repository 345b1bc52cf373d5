// Package zero_test has the drivers' values that no function of their packages has made.
package zero_test

import (
	"strings"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencedynamodb"
	"github.com/fencelab/fencelab/pkg/fence/fencees"
	"github.com/fencelab/fencelab/pkg/fence/fenceetcd"
	"github.com/fencelab/fencelab/pkg/fence/fencek8s"
	"github.com/fencelab/fencelab/pkg/fence/fencenats"
	"github.com/fencelab/fencelab/pkg/fence/fenceredis"
	"github.com/fencelab/fencelab/pkg/fence/fences3"
	"github.com/fencelab/fencelab/pkg/fence/fencesql"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/eslock"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
	"github.com/fencelab/fencelab/pkg/lock/k8slock"
	"github.com/fencelab/fencelab/pkg/lock/natslock"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
	"github.com/fencelab/fencelab/pkg/lock/sqllock"
	"github.com/fencelab/fencelab/pkg/lock/zklock"
)

// refuses: an error says what is missing, and that nothing was done.
func refuses(t *testing.T, call string, err error, missing string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), missing) || fence.OutcomeOf(err) != fence.Definite {
		t.Errorf("%s: got %v, want that it %s, and that it is definite", call, err, missing)
	}
}

// TestBackends: a zero Backend says that New did not make it.
func TestBackends(t *testing.T) {
	for name, b := range map[string]interface {
		lock.Backend
		lock.Inspector
	}{
		"eslock":    new(eslock.Backend),
		"etcdlock":  new(etcdlock.Backend),
		"k8slock":   new(k8slock.Backend),
		"natslock":  new(natslock.Backend),
		"redislock": new(redislock.Backend),
		"sqllock":   new(sqllock.Backend),
		"zklock":    new(zklock.Backend),
	} {
		_, locked := b.Lock(t.Context(), "/lock")
		refuses(t, name+".Lock", locked, "was not made by New")
		_, inspected := b.Inspect(t.Context(), "/lock")
		refuses(t, name+".Inspect", inspected, "was not made by New")
	}
}

// TestStores: a zero Store says what it lacks.
func TestStores(t *testing.T) {
	claim := fence.Claim{Scope: "/lock", Token: 1}
	refuses(t, "fencedynamodb", new(fencedynamodb.Store).Do(t.Context(), claim, nil), "was not made by New")
	refuses(t, "fencees", new(fencees.Store).Do(t.Context(), claim, nil), "was not made by New")
	refuses(t, "fencek8s", new(fencek8s.Store).Do(t.Context(), claim, nil), "was not made by New")
	refuses(t, "fencenats", new(fencenats.Store).Do(t.Context(), claim, nil), "was not made by New")
	refuses(t, "fences3", new(fences3.Store).Do(t.Context(), claim, nil), "was not made by New")
	refuses(t, "fencesql", new(fencesql.Store).Do(t.Context(), claim, nil), "has no DB")
	_, err := fenceetcd.Store{}.Do(t.Context(), claim)
	refuses(t, "fenceetcd", err, "has no KV")
	_, err = fenceredis.Store{}.Do(t.Context(), claim)
	refuses(t, "fenceredis", err, "has no Client")
}
