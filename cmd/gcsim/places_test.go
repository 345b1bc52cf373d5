package main

import (
	"testing"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
)

// poor is a service whose own servers lack something.
func poor(where, lacks string) *service.Service {
	return &service.Service{
		Service: scenario.Service{Name: "poor"},
		Found:   func() (string, string) { return where, "buy one" },
		Lacks:   func(*scenario.Variant) string { return lacks },
	}
}

// TestSkips: a variant is left out by the name of what it needs, which is another thing on
// servers that are there already.
func TestSkips(t *testing.T) {
	v := &scenario.Variant{World: scenario.World{Service: "poor"}, Own: "it stops the server"}
	for want, f := range map[string]found{
		"poor is missing: buy one": {services: []*service.Service{poor("", "it has no replicas")}},
		"it has no replicas":       {services: []*service.Service{poor("here", "it has no replicas")}},
		"":                         {services: []*service.Service{poor("here", "")}},
		"it stops the server":      {services: []*service.Service{poor("", "")}, endpoints: map[string][]string{"poor": {"127.0.0.1:1"}}},
	} {
		if got := f.skips(v); got != want {
			t.Errorf("left out because of %q, want %q", got, want)
		}
	}
}
