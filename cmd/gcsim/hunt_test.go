package main

import (
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/all"
)

// TestHuntRefuses: what cannot be hunted is said, and why.
func TestHuntRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"want a lock service":            {},
		"--for with a time over 0":       {"sqlite", "--for", "0s"},
		"want --expect promised or safe": {"sqlite", "--expect", "corrupted"},
		"nowhere":                        {"nowhere"},
	} {
		status, _, wrong := gcsim(t, append([]string{"hunt"}, args...)...)
		if status != exitCannot || !strings.Contains(wrong, want) {
			t.Errorf("%q: status %d, %s, want %q", args, status, wrong, want)
		}
	}
}

// TestHuntRecipes: a lock service has a world for each recipe in Go, and a storage that checks tokens where there are some.
func TestHuntRecipes(t *testing.T) {
	fencing := make(map[string]string)
	for _, s := range recipesOf(service.Named(all.List, "redis")) {
		fencing[s.Name] = s.Variants[0].World.Storage.Fencing
	}
	for name, want := range map[string]string{
		"redis-fenced": scenario.FencingOn, "redis-set-nx-px": scenario.FencingOff, "redis-token-apart": scenario.FencingOff, "redis-spring": scenario.FencingOff, "redis-redisson-java": "",
	} {
		if fencing[name] != want {
			t.Errorf("%s: fencing %q, want %q", name, fencing[name], want)
		}
	}
}
