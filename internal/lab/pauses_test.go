package lab_test

import (
	"slices"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
)

// TestNobodyIsLeft: who is stopped goes on where nobody is left who could write meanwhile.
func TestNobodyIsLeft(t *testing.T) {
	t.Parallel()
	events := played(t, `
title: t
world: {etcd: {}, storage: {fencing: off}, pauses: 1}
clients:
  client1: {lock: /lock, look: nothing, ttl: 1m}
  client2: {lock: /other, look: nothing, ttl: 1m}
steps:
  - clients: count key 1
variants:
  v: {expect: {verdict: safe}}
`)
	stops := slices.ContainsFunc(events, func(e history.Event) bool { return e.Kind == history.KindPause && e.Client != "" })
	if last := events[len(events)-1]; last.Kind != history.KindEnd || !stops {
		t.Errorf("a client is stopped: %v; the run ends with %+v", stops, last)
	}
}
