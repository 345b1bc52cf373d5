// Package zero_test has the drivers' values that no function of their packages has made.
package zero_test

import (
	"strings"
	"testing"
	"time"

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
	_, err := fenceetcd.Store{}.Do(t.Context(), claim)
	refuses(t, "fenceetcd", err, "has no KV")

	refuses(t, "fencees.Create", new(fencees.Store).Create(t.Context()), "was not made by New")
	_, _, err = new(fencees.Store).Read(t.Context(), "/lock")
	refuses(t, "fencees.Read", err, "was not made by New")

	_, err = fenceredis.Store{}.Do(t.Context(), claim)
	refuses(t, "fenceredis", err, "has no Client")
	_, err = fenceredis.Store{}.Mark(t.Context(), "/lock")
	refuses(t, "fenceredis.Mark", err, "has no Client")

	without := &fencesql.Store{Dialect: fencesql.MySQL}
	refuses(t, "fencesql", without.Do(t.Context(), claim, nil), "has no DB")
	refuses(t, "fencesql.Create", without.Create(t.Context()), "has no DB")
	_, err = without.Mark(t.Context(), "/lock")
	refuses(t, "fencesql.Mark", err, "has no DB")
	_, err = without.Update(t.Context(), claim, fencesql.Statement{}, fencesql.Statement{})
	refuses(t, "fencesql.Update", err, "has no DB")
}

// TestClients: without a client there is nothing to ask, and nothing panics.
func TestClients(t *testing.T) {
	ctx := t.Context()
	for call, made := range map[string]func() error{
		"eslock.HTTP":  func() error { _, err := eslock.New("http://h:1", time.Second, eslock.HTTP(nil)); return err },
		"fencees.HTTP": func() error { _, err := fencees.New("http://h:1", "docs", fencees.HTTP(nil)); return err },
		"k8slock.HTTP": func() error {
			_, err := k8slock.New("https://h:1", "default", time.Second, k8slock.HTTP(nil))
			return err
		},
		"fencek8s.HTTP": func() error {
			_, err := fencek8s.New("https://h:1", "/api/v1/namespaces/default/configmaps", fencek8s.HTTP(nil))
			return err
		},
		"etcdlock.New":      func() error { _, err := etcdlock.New(nil, time.Second); return err },
		"redislock.New":     func() error { _, err := redislock.New(nil, time.Second); return err },
		"natslock.Create":   func() error { return natslock.Create(ctx, nil) },
		"natslock.New":      func() error { _, err := natslock.New(ctx, nil, time.Second); return err },
		"fencenats.Create":  func() error { return fencenats.Create(ctx, nil, "bucket", 1) },
		"fencenats.New":     func() error { _, err := fencenats.New(ctx, nil, "bucket"); return err },
		"fences3.New":       func() error { _, err := fences3.New(ctx, nil, "bucket"); return err },
		"fencedynamodb.New": func() error { _, err := fencedynamodb.New(ctx, nil, "table"); return err },
		"sqllock.Create":    func() error { return sqllock.Create(ctx, nil, sqllock.PostgreSQL) },
		"sqllock.New":       func() error { _, err := sqllock.New(nil, sqllock.PostgreSQL, time.Second); return err },
	} {
		refuses(t, call, made(), "is nil")
	}
}
