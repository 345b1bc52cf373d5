package lab

import (
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
)

// bounds are what the lock service promises of the run: nothing where the story has one
// of its faults, as they are no events of their own, or where the servers are others'.
func (r *run) bounds(o Options) (bounds map[string]time.Duration, handover time.Duration) {
	ofServers := func(s scenario.Step) bool { return r.actions[s.ID].ofService }
	if r.service.Bounds == nil || len(o.Endpoints) > 0 || slices.ContainsFunc(r.variant.Steps, ofServers) {
		return nil, 0
	}
	return r.service.Bounds(r.variant.World.Settings, r.variant.Clients)
}

// How the machine is seen to stand still: this program looks at the clock so often, and
// was kept from it for so long.
const (
	lookPeriod = 50 * time.Millisecond
	stoodStill = 500 * time.Millisecond
)

// watchMachine tells of the times for which this program, and so perhaps the whole
// machine, stood still.
func (r *run) watchMachine() {
	ticks := time.NewTicker(lookPeriod)
	defer ticks.Stop()
	for last := wallClock(); ; last = wallClock() {
		select {
		case <-ticks.C:
		case <-r.over:
			return
		}
		for _, e := range stalls(last, wallClock()) {
			r.Tell(e)
		}
	}
}

// wallClock is the time by a clock that goes on while the machine sleeps.
func wallClock() time.Time { return time.Now().Round(0) }

// stalls are the events of a machine that was last seen to go on at one time, and then
// at another.
func stalls(last, now time.Time) []history.Event {
	if now.Sub(last) < stoodStill {
		return nil
	}
	still := history.Event{At: time.Duration(last.UnixNano()), Lane: history.LaneLab, Kind: history.KindPause}
	goes := history.Event{At: time.Duration(now.UnixNano()), Lane: history.LaneLab, Kind: history.KindResume, Took: now.Sub(last)}
	return []history.Event{still, goes}
}
