package verdict

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/history"
)

// cycle is clients of whom each waits for each other one.
type cycle struct {
	clients []string
	why     string // who waits for what
	lasts   stretch
	said    bool // that it lasted too long
}

// edge says that a client waits for a lock that another one holds.
type edge struct{ client, lock, holder string }

// measureCycles ends the times of the cycles that an event ends, with anew all, and begins those that it begins.
func (j *judge) measureCycles(i int, anew bool) {
	now := j.cyclesNow()
	for _, c := range now {
		if !c.in(j.cycles) {
			j.cycles = append(j.cycles, c)
		}
	}
	for _, c := range j.cycles {
		j.measureCycle(i, c, c.in(now), anew)
	}
	j.cycles = slices.DeleteFunc(j.cycles, func(c *cycle) bool { return c.lasts.since == 0 })
}

func (c *cycle) in(cycles []*cycle) bool {
	return slices.ContainsFunc(cycles, func(o *cycle) bool { return slices.Equal(o.clients, c.clients) })
}

func (j *judge) measureCycle(i int, c *cycle, lasts, anew bool) {
	what := func(l lap) string {
		return fmt.Sprintf("%s waited for each other for %.3f s from %.3f s on: %s",
			strings.Join(c.clients, " and "), l.took.Seconds(), j.events[l.since].At.Seconds(), c.why)
	}
	bound := j.shortest(c.clients)
	one, all := j.pass(&c.lasts, i, lasts, j.runs(), true, anew)
	if one.tooLong(bound) {
		c.said = true
		j.violateUnlessStarved(history.Deadlocked, one, i, bound, what(one), append(c.clients, j.serviceLane())...)
	}
	if all.tooLong(bound) && !c.said {
		j.unmeasured(all.since, i, what(all))
	}
}

// shortest is the shortest bound of some clients; 0: none of them has one.
func (j *judge) shortest(clients []string) (bound time.Duration) {
	for _, client := range clients {
		if own := j.events[0].Run.Bounds[client]; own > 0 && (bound == 0 || own < bound) {
			bound = own
		}
	}
	return bound
}

// cyclesNow are the cycles of those who wait.
func (j *judge) cyclesNow() (cycles []*cycle) {
	edges := j.edges()
	for _, e := range edges {
		c := new(cycle)
		for _, o := range edges {
			if !slices.Contains(c.clients, o.client) && leads(edges, e.client, o.client) && leads(edges, o.client, e.client) {
				c.clients = append(c.clients, o.client)
			}
		}
		slices.Sort(c.clients)
		if len(c.clients) > 1 && !c.in(cycles) {
			c.why = c.inWords(edges)
			cycles = append(cycles, c)
		}
	}
	return cycles
}

func (c *cycle) inWords(edges []edge) string {
	var waits []string
	for _, e := range edges {
		if slices.Contains(c.clients, e.client) && slices.Contains(c.clients, e.holder) {
			waits = append(waits, fmt.Sprintf("%s for %s, which %s held", e.client, e.lock, e.holder))
		}
	}
	return strings.Join(waits, ", and ")
}

// edges are who waits for whom, without those of whom it is plain that they are in no cycle: they wait for one who
// does not wait.
func (j *judge) edges() (edges []edge) {
	for _, name := range slices.Sorted(maps.Keys(j.scopes)) {
		s := j.scopes[name]
		for _, w := range s.waits {
			for _, t := range s.holders {
				if !j.lane(w.client).hindered() {
					edges = append(edges, edge{w.client, name, t.client})
				}
			}
		}
	}
	for before := -1; before != len(edges); {
		before = len(edges)
		waiting := slices.Clone(edges)
		edges = slices.DeleteFunc(edges, func(e edge) bool {
			return !slices.ContainsFunc(waiting, func(o edge) bool { return o.client == e.holder })
		})
	}
	return edges
}

// leads reports whether one comes from a client to another one by edges.
func leads(edges []edge, from, to string) bool {
	reached := []string{from}
	for n := 0; n < len(reached); n++ {
		for _, e := range edges {
			switch {
			case e.client != reached[n]:
			case e.holder == to:
				return true
			case !slices.Contains(reached, e.holder):
				reached = append(reached, e.holder)
			}
		}
	}
	return false
}
