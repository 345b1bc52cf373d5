package judge

import (
	"fmt"
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge/verdict"
)

// Clocks is what is known of times where clients' accounts have to do.
type Clocks struct {
	TTL  time.Duration // for which a lease lasts at least after its client asked for it or for its renewal; 0: not known
	Skew time.Duration // by which the clocks of two hosts differ at most; below 0: not known
	set  string        // how they were set, for people
}

// Set sets the clients' clocks by the storage's order, if Skew is not known: of two requests that the storage did, the
// client of the first one asked before the client of the second one was told. The lines are then in the order of the
// clocks that were set, and Skew is by how much these differ at most. Nothing is set where the order leaves it open, or
// contradicts itself, as where a clock was set meanwhile. An error says that the order contradicts a Skew that is known.
func (c Clocks) Set(events []history.Event) ([]history.Event, Clocks, error) {
	o := orderOf(events)
	if run := events[0].Run.Skew; run > 0 { // the run knows its clocks
		c.Skew = max(c.Skew, run)
	}
	if c.Skew >= 0 {
		return events, c, o.allows(c.Skew)
	}
	set, skew, known := o.clocks()
	if !known {
		return events, c, nil
	}
	c.Skew, c.set = skew, fmt.Sprintf("the storage's order sets the clocks, which then differ by %.3f s at most, if nobody has set one meanwhile", skew.Seconds())
	for i, client := range o.clients {
		c.set += fmt.Sprintf("; %s: %+.3f s", client, set[i].Seconds())
	}
	return o.sorted(events, set), c, nil
}

// AreSet reports whether Set has set the clients' clocks.
func (c Clocks) AreSet() bool { return c.set != "" }

// order is what the storage's order says of clocks.
type order struct {
	clients []string          // that have had a lock
	did     []int             // lines of what the storage did, in its order
	asked   map[string]int    // request → the line in which its client asks for it
	most    [][]time.Duration // of two clients: what can be added to the first one's times, less what is added to the second one's
}

// unbound is more than any bound.
const unbound = time.Duration(never / 8)

func orderOf(events []history.Event) *order {
	o := &order{asked: make(map[string]int)}
	told := make(map[string]time.Duration) // request → when its client was told
	for _, i := range verdict.InOrder(events) {
		e := events[i]
		switch {
		case e.Kind == history.KindOK && history.AsksForLock(e.Op) && !slices.Contains(o.clients, e.Lane):
			o.clients = append(o.clients, e.Lane)
		case e.Request == "":
		case e.Kind == history.KindInvoke:
			o.asked[e.Request] = i
		case e.Kind == history.KindOK:
			told[e.Request] = e.At
		case e.Lane == history.LaneStorage:
			o.did = append(o.did, i)
		}
	}
	for i := range o.clients {
		o.most = append(o.most, slices.Repeat([]time.Duration{unbound}, len(o.clients)))
		o.most[i][i] = 0
	}
	last := make(map[int]time.Duration) // client → when it asked for the last of what was done
	for _, i := range o.did {
		asked, known := o.asked[events[i].Request]
		if !known {
			continue
		}
		client := slices.Index(o.clients, events[asked].Lane)
		if client < 0 {
			continue
		}
		if at, known := told[events[i].Request]; known {
			for other, before := range last {
				if other != client {
					o.most[other][client] = min(o.most[other][client], at-before)
				}
			}
		}
		last[client] = max(last[client], events[asked].At)
	}
	return o
}

// allows is an error if the clocks of two clients differ by more than skew.
func (o *order) allows(skew time.Duration) error {
	for a, bounds := range o.most {
		for b, most := range bounds {
			if -most > skew {
				return fmt.Errorf("the storage's order contradicts --skew: the clocks of %s and %s differ by %.3f s at least", o.clients[a], o.clients[b], -most.Seconds())
			}
		}
	}
	return nil
}

// clocks is what to add to each client's times, and by how much they then differ at most.
func (o *order) clocks() (set []time.Duration, skew time.Duration, known bool) {
	most := o.most
	for by := range most { // what two bounds say together
		for a := range most {
			for b := range most {
				most[a][b] = min(most[a][b], most[a][by]+most[by][b])
			}
		}
	}
	for a := range most {
		set = append(set, (most[a][0]-most[0][a])/2)
	}
	for a := range most {
		for b := range most {
			if most[a][b] >= unbound/2 || most[a][a] < 0 {
				return nil, 0, false
			}
			skew = max(skew, most[a][b]-set[a]+set[b])
		}
	}
	return set, skew, len(most) > 1
}

// sorted are the lines in the order of clocks that were set. What the storage did comes when it was asked for.
func (o *order) sorted(events []history.Event, set []time.Duration) []history.Event {
	all := slices.Clone(events)
	var first, last time.Duration
	for i, e := range all {
		if client := slices.Index(o.clients, e.Lane); client >= 0 {
			all[i].At += set[client]
			first, last = min(first, all[i].At), max(last, all[i].At)
		}
	}
	at := first
	for _, i := range o.did {
		if asked, known := o.asked[all[i].Request]; known {
			at = max(at, all[asked].At) + 1
		}
		all[i].At, last = at, max(last, at)
	}
	for i, e := range all {
		switch {
		case i == 0:
			all[i].At = first
		case e.Kind == history.KindFinal, e.Kind == history.KindEnd:
			all[i].At = last
		}
	}
	history.Sort(all)
	for i := range all {
		all[i].At -= first
	}
	return all
}
