package main

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/fencelab/fencelab/internal/service/all"
)

func TestVersion(t *testing.T) {
	rest := " " + runtime.GOOS + "/" + runtime.GOARCH + "\n"
	for _, s := range all.List {
		if where, _ := s.Found(); where != "" {
			rest += s.Name + ": " + where + "\n"
		}
	}
	released := &debug.BuildInfo{GoVersion: "go1.26.1", Main: debug.Module{Version: "v0.2.0"}}
	cloned := &debug.BuildInfo{GoVersion: "go1.26.1", Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}}}
	for want, info := range map[string]*debug.BuildInfo{
		"gcsim v0.2.0\ngo1.26.1" + rest:                               released,
		"gcsim (devel), revision abc, changed since\ngo1.26.1" + rest: cloned,
	} {
		if got := versionOf(info); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
