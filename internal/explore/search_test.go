package explore

import (
	"context"
	"slices"
	"testing"

	"github.com/fencelab/fencelab/internal/explore/model"
)

// pausing is a world of clients that look only where they stand before a write, and can be paused.
func pausing(clients int, change func(w *model.Settings)) *model.Settings {
	w := &model.Settings{Keys: 1, Queue: true, Fence: model.FenceOn, Faults: model.Pause}
	for i := range clients {
		w.Clients = append(w.Clients, model.Client{Session: i, Look: model.LookBegin})
	}
	change(w)
	return w
}

// TestSearch: the smallest story has so many steps, and the answer is the same whoever looks for it.
func TestSearch(t *testing.T) {
	for name, c := range map[string]struct {
		world *model.Settings
		depth int
		harm  model.Harm
		steps int
	}{
		"unfenced":     {pausing(2, func(w *model.Settings) { w.Fence = model.FenceOff }), 12, model.Stale, 7},
		"fenced":       {pausing(2, func(*model.Settings) {}), 14, model.None, 0},
		"three fenced": {pausing(3, func(*model.Settings) {}), 12, model.None, 0},
		"lease IDs": {pausing(2, func(w *model.Settings) {
			for i := range w.Clients {
				w.Clients[i].Token = model.TokenUnordered
			}
			w.Clients[0].High = true
		}), 12, model.Refused, 5}, // it writes and unlocks, and the other one is refused
		"mixed revisions": {pausing(3, func(w *model.Settings) {
			w.Faults = 0
			w.Clients[1].Token = model.TokenLater
		}), 12, model.Refused, 9},
	} {
		t.Run(name, func(t *testing.T) {
			one := Search(t.Context(), c.world, Bounds{Depth: c.depth, Side: 1}, func(Found) {})
			if one.Harm != c.harm || len(one.Path) != c.steps {
				t.Errorf("harm %d in %d steps, want %d in %d: %v", one.Harm, len(one.Path), c.harm, c.steps, one.Path)
			}
			three := Search(t.Context(), c.world, Bounds{Depth: c.depth, Side: 3}, func(Found) {})
			if three.Harm != one.Harm || three.States != one.States || !slices.Equal(three.Path, one.Path) {
				t.Errorf("three find %+v, and one %+v", three, one)
			}
		})
	}
}

// TestExchange: that clients that are alike are exchanged changes no answer, and saves states.
func TestExchange(t *testing.T) {
	world := pausing(3, func(*model.Settings) {})
	alike := Search(t.Context(), world, Bounds{Depth: 10}, func(Found) {})
	world.Clients[0].High, world.Clients[1].Plain = true, true // which matters to none of these stories
	apart := Search(t.Context(), world, Bounds{Depth: 10}, func(Found) {})
	if alike.Harm != apart.Harm || alike.States >= apart.States {
		t.Errorf("harm %d in %d states, and without exchange %d in %d", alike.Harm, alike.States, apart.Harm, apart.States)
	}
}

// TestPack: packed states come out as they were.
func TestPack(t *testing.T) {
	world := pausing(3, func(*model.Settings) {})
	var state model.State
	list := []node{{state, 0}}
	for _, step := range []model.Step{{Verb: model.Lock}, {Verb: model.Queue, Client: 1}, {Verb: model.BeginWrite}, {Verb: model.PauseClient}, {Verb: model.Lock, Client: 1}} {
		m, ok := state.Take(world, step)
		if !ok {
			t.Fatalf("%v cannot come", step)
		}
		state = m.State
		list = append(list, node{state, uint32(len(list)) << 20})
	}
	var packed []byte
	for _, a := range list {
		packed = pack(packed, a)
	}
	for _, want := range list {
		var got node
		if got, packed = unpack(packed); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	if len(packed) > 0 {
		t.Errorf("%d bytes are left", len(packed))
	}
}

// TestBounds: a search ends where the memory is full, and where its context does, with what is known by then.
func TestBounds(t *testing.T) {
	world := pausing(4, func(*model.Settings) {})
	full := Search(t.Context(), world, Bounds{Depth: 100, Memory: 8 << 20}, func(Found) {})
	if !full.Full || full.Whole || full.Path != nil || full.Depth == 0 {
		t.Errorf("of 8 MiB: %+v", full)
	}
	if each := full.Bytes / full.States; each > 200 {
		t.Errorf("%d bytes a state, want 200 or less", each)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := Search(ctx, world, Bounds{Depth: 100}, func(f Found) {
		if f.Depth == 3 {
			cancel()
		}
	})
	if stopped.Full || stopped.Whole || stopped.Path != nil || stopped.Depth != 3 {
		t.Errorf("stopped: %+v", stopped)
	}
}

// TestNodesAlike: that of nodes in the same state only the first one fails changes no answer.
func TestNodesAlike(t *testing.T) {
	world := &model.Settings{Keys: 1, Nodes: 3, Faults: model.KillNode | model.Clock}
	for i := range 2 {
		world.Clients = append(world.Clients, model.Client{Session: i, Clock: true, Look: model.LookSession, Renews: model.Lasts})
	}
	found := Search(t.Context(), world, Bounds{Depth: 8}, func(Found) {})

	depths := map[model.State]int{{}: 0} // of all that can be reached where each node can fail
	harm := 0
	for level := []model.State{{}}; harm == 0 && len(level) > 0 && depths[level[0]] < 8; {
		var next []model.State
		for _, s := range level {
			reach := func(m model.Move) {
				if m.Harm != model.None {
					harm = depths[s] + 1
				}
				m.State.Canonical(world)
				if _, known := depths[m.State]; !known {
					depths[m.State] = depths[s] + 1
					next = append(next, m.State)
				}
			}
			for step, m := range s.Next(world) {
				if !step.Verb.OfNode() {
					reach(m)
				}
			}
			for verb := model.KillTheNode; verb <= model.JumpClock; verb++ {
				for n := range world.Nodes {
					if m, comes := s.Take(world, model.Step{Verb: verb, Node: uint8(n)}); comes {
						reach(m)
					}
				}
			}
		}
		level = next
	}
	if harm != len(found.Path) || found.States >= len(depths) {
		t.Errorf("harm in %d steps, of %d states; where each node fails in %d, of %d", len(found.Path), found.States, harm, len(depths))
	}
}

// TestReplicaOnce: a replica takes the place of its server once, and a snapshot can be taken again.
func TestReplicaOnce(t *testing.T) {
	for _, once := range []bool{false, true} {
		world := pausing(2, func(w *model.Settings) { w.Once = once })
		var state model.State
		for n, verb := range []model.Verb{model.SaveService, model.RestoreService, model.SaveService, model.RestoreService} {
			m, comes := state.Take(world, model.Step{Verb: verb})
			if comes != (n < 2 || !once) {
				t.Errorf("once %t, step %d: it comes: %t", once, n+1, comes)
			}
			state = m.State
		}
	}
}
