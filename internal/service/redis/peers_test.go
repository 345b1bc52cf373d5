package redis_test

import (
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/golang"
	"github.com/fencelab/fencelab/internal/clients/java/javatest"
	"github.com/fencelab/fencelab/internal/clients/nodejs"
	"github.com/fencelab/fencelab/internal/clients/original/originaltest"
	"github.com/fencelab/fencelab/internal/clients/python"
	"github.com/fencelab/fencelab/internal/clients/rust"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/redis"
	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// TestPeers: clients in Java have the tenures, the tokens and the verdicts that this service's
// own recipes of the same names have, and exclude them.
func TestPeers(t *testing.T) {
	javatest.Need(t)
	if redisproc.Program() == "" {
		need.Program(t, "redis-server", "to tell the stories on")
	}
	labtest.Each(t, services.Parse(t, "testdata/java/*.yaml"), func(t *testing.T, s *scenario.Scenario, v *scenario.Variant) {
		run(t, s, v, redis.Service(), nil)
	})
}

// TestPython: clients in Python take turns with gcsim's own.
func TestPython(t *testing.T) {
	originaltest.Need(t, python.Name)
	labtest.Each(t, services.Parse(t, "testdata/python/*.yaml"), func(t *testing.T, s *scenario.Scenario, v *scenario.Variant) {
		run(t, s, v, redis.Service(), nil)
	})
}

// TestNode: clients in JavaScript take turns with gcsim's own.
func TestNode(t *testing.T) {
	originaltest.Need(t, nodejs.Name)
	labtest.Each(t, services.Parse(t, "testdata/node/*.yaml"), func(t *testing.T, s *scenario.Scenario, v *scenario.Variant) {
		run(t, s, v, redis.Service(), nil)
	})
}

// TestGo: clients with libraries in Go take turns with gcsim's own.
func TestGo(t *testing.T) {
	originaltest.Need(t, golang.Name)
	labtest.Each(t, services.Parse(t, "testdata/go/*.yaml"), func(t *testing.T, s *scenario.Scenario, v *scenario.Variant) {
		run(t, s, v, redis.Service(), nil)
	})
}

// TestRust: clients with libraries in Rust take turns with gcsim's own.
func TestRust(t *testing.T) {
	originaltest.Need(t, rust.Name)
	labtest.Each(t, services.Parse(t, "testdata/rust/*.yaml"), func(t *testing.T, s *scenario.Scenario, v *scenario.Variant) {
		run(t, s, v, redis.Service(), nil)
	})
}

// TestLateUnlock: docs/java.md has what each library says of an unlock that comes too late.
func TestLateUnlock(t *testing.T) {
	if redisproc.Program() == "" {
		need.Program(t, "redis-server", "to tell the stories on")
	}
	javatest.LateUnlocks(t, "testdata/java/late/*.yaml", lab.Options{Services: []*service.Service{redis.Service()}})
}

// TestInNoJVM: a recipe of gcsim's own is refused with what clients in Java alone can choose.
func TestInNoJVM(t *testing.T) {
	for _, setting := range []string{"collector: g1", "ahead: 60s"} {
		story := "title: t\nworld: {redis: {}}\nclients:\n  client1: {lock: /l, by: redisson-fair, " + setting + "}\n" +
			"steps:\n  - client1: lock\nvariants:\n  v: {expect: {verdict: safe}}\n"
		name, _, _ := strings.Cut(setting, ":")
		want := `redisson-fair runs in no JVM: leave "` + name + `" out`
		if _, err := lab.Language(services).Parse("t.yaml", "t", []byte(story)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", setting, err, want)
		}
	}
}
