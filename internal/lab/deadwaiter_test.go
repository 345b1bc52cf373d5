package lab_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge"
)

// tenuresOf are the words of the lock service's account about tenures, in short.
func tenuresOf(events []history.Event) string {
	var said []string
	for _, e := range events {
		if e.Kind == history.KindGranted || e.Kind == history.KindEnded {
			said = append(said, strings.TrimSpace(fmt.Sprint(e.Client, " ", e.Kind, " ", e.Cause)))
		}
	}
	return strings.Join(said, ", ")
}

// TestGrantToTheDead: etcd gives the lock to who is next, also where that client cannot hear
// of it. The account tells so at once, wherever the story ends, and the lock is not free.
func TestGrantToTheDead(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		clients, steps string
		want           string // of the tenures
		last           string // what c3 is told last; "": nothing
	}{
		"killed": {"c2: {lock: /l, ttl: 60s}", `
  - c1: lock
  - c2: queue
  - gcsim: kill c2
  - c1: unlock`, "c1 granted, c1 ended released, c2 granted", ""},
		"stopped, and somebody waits": {"c2: {lock: /l, ttl: 60s}, c3: {lock: /l}", `
  - c1: lock
  - c2: queue
  - c3: queue
  - gcsim: pause c2
  - c1: unlock
  - c3: lock within 200ms`, "c1 granted, c1 ended released, c2 granted", "fail"},
		"somebody tries": {"c2: {lock: /l, ttl: 60s}, c3: {lock: /l}", `
  - c1: lock
  - c2: queue
  - gcsim: kill c2
  - c1: unlock
  - c3: trylock`, "c1 granted, c1 ended released, c2 granted", "fail"},
		"two of them, one after the other": {"c2: {lock: /l, ttl: 1s}, c3: {lock: /l, ttl: 60s}", `
  - c1: lock
  - c2: queue
  - c3: queue
  - gcsim: kill c2
  - gcsim: kill c3
  - c1: unlock
  - etcd: await expiry of c2`, "c1 granted, c1 ended released, c2 granted, c2 ended expired, c3 granted", ""},
		"it shares the lock": {"c2: {lock: /l, ttl: 60s, mode: shared}, c3: {lock: /l, ttl: 60s, mode: shared}", `
  - c1: lock
  - c2: queue
  - c3: queue
  - gcsim: kill c2
  - c1: unlock
  - c3: lock`, "c1 granted, c1 ended released, c2 granted, c3 granted", "ok"},
		"its session is kept": {"c2: {lock: /l, ttl: 60s, session: kept}", `
  - c1: lock
  - c2: queue
  - gcsim: pause c2
  - c1: unlock`, "c1 granted, c1 ended released, c2 granted", ""},
		"it hears later": {"c2: {lock: /l, ttl: 60s}", `
  - c1: lock
  - c2: queue
  - gcsim: pause c2
  - c1: unlock
  - gcsim: resume c2
  - c2: lock
  - c2: unlock`, "c1 granted, c1 ended released, c2 granted, c2 ended released", ""},
		"it is cut off": {"c2: {lock: /l, ttl: 60s}", `
  - c1: lock
  - c2: queue
  - gcsim: partition c2 from etcd
  - c1: unlock`, "c1 granted, c1 ended released, c2 granted", ""},
		"it does not know that it is in the queue": {"c2: {lock: /l, ttl: 60s, session: kept, timeout: 300ms}", `
  - c2: lock
  - c2: unlock
  - c1: lock
  - gcsim: partition c2 from etcd
  - gcsim: heal c2
  - gcsim: deafen c2 to etcd
  - c2: lock
  - gcsim: kill c2
  - c1: unlock`, "c2 granted, c2 ended released, c1 granted, c1 ended released, c2 granted", ""},
	} {
		t.Run(name, func(t *testing.T) {
			events := played(t, "title: t\nclients: {c1: {lock: /l}, "+tt.clients+"}\nsteps:"+tt.steps+
				"\nvariants: {only: {expect: {verdict: safe}}}\n")
			if got := tenuresOf(events); got != tt.want {
				t.Errorf("the account tells: %s\nwant: %s", got, tt.want)
			}
			j, err := judge.Judge(events)
			if err != nil || j.Name != history.Safe {
				t.Errorf("the verdict is %+v (%v), want safe", j, err)
			}
			last := ""
			for _, e := range slices.Backward(events) {
				if e.Lane == "c3" && (e.Kind == history.KindOK || e.Kind == history.KindFail) {
					last = string(e.Kind)
					break
				}
			}
			if last != tt.last {
				t.Errorf("c3 is told %q last, want %q", last, tt.last)
			}
		})
	}
}
