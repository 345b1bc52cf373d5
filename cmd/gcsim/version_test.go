package main

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestVersion(t *testing.T) {
	here := " " + runtime.GOOS + "/" + runtime.GOARCH + "\n"
	released := &debug.BuildInfo{GoVersion: "go1.26.1", Main: debug.Module{Version: "v0.2.0"}, Deps: []*debug.Module{{Path: "go.etcd.io/bbolt", Version: "v1.4.0"}, {Path: etcdModule, Version: "v3.7.3"}}}
	cloned := &debug.BuildInfo{GoVersion: "go1.26.1", Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}}}
	for want, info := range map[string]*debug.BuildInfo{
		"gcsim v0.2.0\ngo1.26.1" + here + "etcd v3.7.3\n":                                released,
		"gcsim (devel), revision abc, changed since\ngo1.26.1" + here + "etcd unknown\n": cloned,
	} {
		if got := versionOf(info); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
