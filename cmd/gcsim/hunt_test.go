package main

import (
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/hunt"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/all"
)

// TestHuntRefuses: what cannot be hunted is said, and why.
func TestHuntRefuses(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // a lock service without recipes in Go stands for its scenarios, which have clients in Java
	for want, args := range map[string][]string{
		"want a lock service":            {},
		"--for with a time over 0":       {"sqlite", "--for", "0s"},
		"want --expect promised or safe": {"sqlite", "--expect", "corrupted"},
		"--clients of 2 or more":         {"sqlite", "--clients", "1"},
		"members":                        {"etcd", "--set", "etcd.members=2"},
		"01-paused-holder/fenced is left out: the clients in Java are missing": {"hazelcast"},
		"nowhere": {"nowhere"},
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
	list, err := huntOptions{}.recipesOf(service.Named(all.List, "redis"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
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

// TestPromised: what a recipe promises is what the table of its lock service says.
func TestPromised(t *testing.T) {
	got := make(map[string]hunt.Promises)
	for _, name := range []string{"postgres", "redis", "sqlite"} {
		of := service.Named(all.List, name)
		list, err := huntOptions{}.recipesOf(of)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list {
			got[s.Name] = promised(of, s)
		}
	}
	for name, want := range map[string]hunt.Promises{
		"postgres-advisory":  {Exclusive: true, Frees: true},
		"redis-fenced":       {Exclusive: true, Frees: true, Leased: true, Ordered: true, Pause: true},
		"redis-multi-expire": {Exclusive: true, Leased: true},
		"redis-token-apart":  {Exclusive: true, Frees: true, Leased: true},
		"sqlite-immediate":   {Exclusive: true, Frees: true},
	} {
		if got[name] != want {
			t.Errorf("%s: %+v, want %+v", name, got[name], want)
		}
	}
}
