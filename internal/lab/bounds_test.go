package lab

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/etcd"
)

// TestBounds: what the run says of what the lock service promises.
func TestBounds(t *testing.T) {
	story := func(world, clients, steps string) string {
		return fmt.Sprintf("title: t\nworld: {%s}\nclients: {%s}\nsteps: [client1: lock, %s]\nvariants: {only: {control: true, expect: {verdict: blocked}}}\n", world, clients, steps)
	}
	const two = "client1: {lock: /l}, client2: {lock: /l, ttl: 2s}"
	for _, tt := range []struct {
		name, text string
		endpoints  []string
		bounds     map[string]time.Duration
		handover   time.Duration
	}{
		{"one member", story("", two, "client2: trylock"), nil, map[string]time.Duration{"client1": 4 * time.Second, "client2": 5 * time.Second}, 3 * time.Second},
		{"a leader gives leases their time anew", story("etcd: {members: 3}", two, "client2: trylock"), nil, map[string]time.Duration{"client1": 5 * time.Second, "client2": 7 * time.Second}, 3 * time.Second},
		{"who shares a session", story("", "client1: {lock: /l, session: kept}, client2: {lock: /l, session: client1}", "client2: lock"), nil, map[string]time.Duration{"client1": 4 * time.Second}, 3 * time.Second},
		{"a fault of etcd", story("", two, "gcsim: save etcd"), nil, nil, 0},
		{"an etcd of others", story("", two, "client2: trylock"), []string{"127.0.0.1:2379"}, nil, 0},
	} {
		s, err := Language([]*service.Service{etcd.Service()}).Parse("test.yaml", "test", []byte(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		r := &run{Options: Options{Endpoints: tt.endpoints}, service: etcd.Service(), actions: actionsWith(etcd.Service()), variant: &s.Variants[0]}
		bounds, handover := r.bounds()
		if diff := cmp.Diff(tt.bounds, bounds); diff != "" || handover != tt.handover {
			t.Errorf("%s: handover %v, want %v; bounds (-want +got):\n%s", tt.name, handover, tt.handover, diff)
		}
	}
}

// TestStalls: that the machine stood still is told from when it was last seen to go on.
func TestStalls(t *testing.T) {
	last := time.Unix(100, 0)
	if events := stalls(last, last.Add(499*time.Millisecond)); events != nil {
		t.Errorf("after less than half a second: %v", events)
	}
	want := []history.Event{
		{At: 100 * time.Second, Lane: history.LaneLab, Kind: history.KindPause},
		{At: 102 * time.Second, Lane: history.LaneLab, Kind: history.KindResume, Took: 2 * time.Second},
	}
	if diff := cmp.Diff(want, stalls(last, last.Add(2*time.Second))); diff != "" {
		t.Errorf("after two seconds (-want +got):\n%s", diff)
	}
}
