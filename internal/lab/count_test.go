package lab

import (
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service/etcd"
)

// TestSeedChooses: a seed always chooses the same victims, another one others; and
// all in the first half, so that there are successors.
func TestSeedChooses(t *testing.T) {
	const times, pauses = 40, 3
	draw := func(seed uint64) map[string][]string {
		r := &run{
			Options:  Options{Seed: seed},
			scenario: &scenario.Scenario{Clients: []string{"a", "b", "c", "d", "e"}},
			variant:  &scenario.Variant{World: scenario.World{Pauses: pauses}},
			recorder: newRecorder(nil, etcd.Service().SlotOf),
		}
		r.recorder.begin(history.Run{})
		halts := r.draw(times)
		if n := len(r.recorder.fresh); n != pauses {
			t.Errorf("seed %d: %d notes say what was chosen, want %d", seed, n, pauses)
		}
		return halts
	}
	var seen []map[string][]string
	for seed := range uint64(20) {
		halts, again := draw(seed), draw(seed)
		same := func(other map[string][]string) bool { return maps.EqualFunc(halts, other, slices.Equal) }
		if !same(again) {
			t.Errorf("seed %d chose %v, and then %v", seed, halts, again)
		}
		if !slices.ContainsFunc(seen, same) {
			seen = append(seen, halts)
		}
		n := 0
		for client, list := range halts {
			for _, s := range list {
				if nth, err := strconv.Atoi(s); err != nil || nth < 1 || nth > times/2 {
					t.Errorf("seed %d chose increment %s of %s, want one of the first %d", seed, s, client, times/2)
				}
				n++
			}
		}
		if n != pauses {
			t.Errorf("seed %d chose %v, want %d victims", seed, halts, pauses)
		}
	}
	if len(seen) < 15 {
		t.Errorf("20 seeds made only %d different choices", len(seen))
	}
}

// TestCountDeadline: more increments have more time.
func TestCountDeadline(t *testing.T) {
	client := func(delay string) scenario.Client {
		return scenario.Client{Values: setting.Values{setting.Delay: delay}}
	}
	r := &run{variant: &scenario.Variant{Clients: map[string]scenario.Client{"client1": client("0s"), "client2": client("1m")}}}
	if least := 1000 * time.Minute; r.countDeadline(1000) < least {
		t.Errorf("1000 increments have %v, and client2 alone waits for %v", r.countDeadline(1000), least)
	}
}
