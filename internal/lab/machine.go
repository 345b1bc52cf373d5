package lab

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario"
)

// How often the kernel is asked for how long processes have waited for a processor, and what is told.
const (
	starvePeriod = time.Second
	starvedFor   = 250 * time.Millisecond
)

// hunger is for how long the processes of each lane had waited for a processor by a time.
type hunger struct {
	mu     sync.Mutex
	at     time.Time
	waited map[*proc.Process]time.Duration
}

// every does something so often, until the run is over.
func (r *run) every(period time.Duration, do func()) {
	ticks := time.NewTicker(period)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			do()
		case <-r.over:
			return
		}
	}
}

func (r *run) watchHunger() {
	r.hungry(time.Now())
	r.every(starvePeriod, func() { r.Tell(r.hungry(time.Now())...) })
}

// hungry are the lanes whose processes got no processor for long since it was asked last.
func (r *run) hungry(now time.Time) []history.Event {
	h := &r.hunger
	h.mu.Lock()
	defer h.mu.Unlock()
	lacked, waited := make(map[string]time.Duration), make(map[*proc.Process]time.Duration)
	look := func(name string, p *proc.Process) {
		waited[p] = p.Waited()
		if before, known := h.waited[p]; known {
			lacked[r.laneOf(name)] += max(waited[p]-before, 0)
		}
	}
	r.world.group.Each(look)
	for _, p := range r.joined {
		look(p.Name, p)
	}
	events := starvation(now, now.Sub(h.at), lacked)
	h.at, h.waited = now, waited
	return events
}

// starvation are the events of what lanes lacked until now. Threads side by side lack no more than the time.
func starvation(now time.Time, within time.Duration, lacked map[string]time.Duration) (events []history.Event) {
	for _, lane := range slices.Sorted(maps.Keys(lacked)) {
		if took := min(lacked[lane], within, starvePeriod); took >= starvedFor {
			events = append(events, history.Event{At: time.Duration(now.UnixNano()), Lane: lane, Kind: history.KindStarved, Took: took})
		}
	}
	return events
}

// bounds are what the lock service promises: nothing of others' servers, or where the story has its faults.
func (r *run) bounds() (bounds map[string]time.Duration, handover time.Duration) {
	ofServers := func(s scenario.Step) bool { return r.actions[s.ID].ofService }
	if r.service.Bounds == nil || len(r.Endpoints) > 0 || slices.ContainsFunc(r.variant.Steps, ofServers) {
		return nil, 0
	}
	return r.service.Bounds(r.variant.World.Settings, r.variant.Clients)
}

// How the machine is seen to stand still: how often the clock is looked at, and how late that was.
const (
	lookPeriod = 50 * time.Millisecond
	stoodStill = 500 * time.Millisecond
)

// watchMachine tells of the times for which this program, and so perhaps the whole machine, stood still.
func (r *run) watchMachine() {
	last := wallClock()
	r.every(lookPeriod, func() {
		r.Tell(stalls(last, wallClock())...)
		last = wallClock()
	})
}

// wallClock is the time by a clock that goes on while the machine sleeps.
func wallClock() time.Time { return time.Now().Round(0) }

// stalls are the events of a machine that was last seen to go on at one time, and then at another.
func stalls(last, now time.Time) []history.Event {
	if now.Sub(last) < stoodStill {
		return nil
	}
	still := history.Event{At: time.Duration(last.UnixNano()), Lane: history.LaneLab, Kind: history.KindPause}
	goes := history.Event{At: time.Duration(now.UnixNano()), Lane: history.LaneLab, Kind: history.KindResume, Took: now.Sub(last)}
	return []history.Event{still, goes}
}
