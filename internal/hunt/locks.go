package hunt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge"
	"github.com/fencelab/fencelab/internal/judge/lockmodel"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/pkg/fence"
)

// lockSteps is how many steps a story of locks has before it is healed.
const lockSteps = 100

// mostNodes are as many as a world of locks looks for.
const mostNodes = 5

// TakeLocks has the clients of a world take, hold, lose and give back so many locks for long, and nothing else. Where
// servers is true, faults of the lock service's nodes come, too.
func (w *World) TakeLocks(n int, servers bool) error {
	first := w.Scenario.Clients[0]
	for i := 2; i <= n; i++ {
		line := fmt.Sprintf("%s: lock %s%d", first, w.Variant.Clients[first].Lock, i)
		step, err := w.language.Tell(w.Scenario, w.Variant).Parse(line)
		if err != nil {
			return fmt.Errorf("%s cannot have %d locks: %w", w.Name, n, err)
		}
		w.Variant.Steps = append(slices.Clone(w.Variant.Steps), step)
	}
	for _, c := range w.Variant.Clients {
		c.Values[setting.Timeout] = "1s" // of what goes into a network that is cut
	}
	if w.locks = true; servers {
		w.planNodes()
	}
	return nil
}

// planNodes has the world be made ready for faults of each node of its lock service.
func (w *World) planNodes() {
	parse := w.language.Tell(w.Scenario, w.Variant).Parse
	of := func(node string) (steps []scenario.Step) {
		for _, f := range w.service.Faults {
			verb, target, _ := strings.Cut(f.Usage, " ")
			if !slices.Contains([]string{"NODE", node}, target) || !slices.Contains(harms, verb) && !slices.Contains(undoes, verb) {
				continue
			}
			if step, err := parse("gcsim: " + verb + " " + node); err == nil {
				steps = append(steps, step)
			}
		}
		return steps
	}
	nodes := []string{"leader"}
	for i := range mostNodes {
		nodes = append(nodes, fmt.Sprint(w.service.Name, i+1))
	}
	for _, node := range nodes {
		told := *w.Variant
		told.Steps = slices.Concat(w.Variant.Steps, of(node))
		is := slices.ContainsFunc(of(node), func(s scenario.Step) bool {
			_, err := w.language.Tell(w.Scenario, &told).Take(s.String())
			return err == nil
		})
		if !is {
			continue
		}
		for _, s := range of(node) {
			told.Own = cmp.Or(told.Own, s.Form.Own)
		}
		w.Variant, w.plan = &told, append(w.plan, of(node)...)
	}
}

// harms are the first words of the faults of nodes.
var harms = []string{"kill", "pause", "isolate"}

// down is how many faults of the lock service's nodes go on, and whether most nodes are without one.
func (t *teller) down() (n int, serves bool) {
	for _, s := range t.telling.Told() {
		switch planned := slices.ContainsFunc(t.w.plan, func(p scenario.Step) bool { return p.String() == s.String() }); {
		case planned && slices.Contains(harms, string(s.Verb)):
			n++
		case planned && slices.Contains(undoes, string(s.Verb)):
			n--
		}
	}
	nodes := make(map[string]bool)
	for _, s := range t.w.plan {
		nodes[s.Node] = true
	}
	delete(nodes, "") // the leader is one of them
	return n, 2*n < max(1, len(nodes))
}

// holderOf is the client that has a lock, by the lock service's account; "": nobody has.
func (s stand) holderOf(lock string) string {
	for _, tenure := range s.Tenures {
		if strings.HasSuffix(tenure.Scope, lock) && tenure.Granted.Came() && !tenure.Ended.Came() {
			return tenure.Client
		}
	}
	return ""
}

// takes are what a client that runs can do with each lock. It waits only for a lock that is its own, or will be.
func (t *teller) takes(now stand, name string, add func(float64, string, ...any)) {
	c, hindered := now.Clients[name], now.hindered(name)
	if _, serves := t.down(); !serves {
		hindered = true
	}
	if c.Begun {
		add(4, "%s: finish", name)
		return
	}
	for _, lock := range t.w.Variant.Locks() {
		holder, queued := now.holderOf(lock), slices.Contains(c.Queued, lock)
		comes := holder == name || holder == "" || now.hindered(holder) && t.w.short(holder)
		switch {
		case queued:
			if comes && !hindered {
				add(2, "%s: lock %s within %s", name, lock, t.w.patience())
			}
			add(0.4, "%s: leave %s", name, lock)
		case hindered && holder != name:
			add(0.1, "%s: trylock %s", name, lock)
		case holder != name:
			if t.w.library(name) {
				if comes {
					add(1.5, "%s: lock %s within %s", name, lock, t.w.patience())
				}
			} else {
				add(1.5, "%s: queue %s", name, lock)
			}
			add(0.7, "%s: trylock %s", name, lock)
		}
		if slices.Contains(c.MayHold, lock) && !queued && !hindered {
			weight := 0.3 // a late one
			if holder == name {
				weight = 2
			}
			add(weight, "%s: unlock %s", name, lock)
			add(0.2*weight, "%s: begin unlock %s", name, lock)
		}
	}
}

// disturb are the faults of the lock service. While one of them goes on it is likely to end.
func (t *teller) disturb(add func(float64, string, ...any)) {
	down, _ := t.down()
	for _, step := range t.w.plan {
		switch {
		case slices.Contains(undoes, string(step.Verb)):
			add(2, "%s", step)
		case down == 0:
			add(0.2, "%s", step)
		}
	}
}

// told is a promise of the lock that does not hold, from the clients' accounts alone: from what each client asked, was told,
// and when. Clients do not tell that they share a lock.
func (w *World) told(events []history.Event, p Promises) (kind, text string, at int) {
	if slices.ContainsFunc(events, func(e history.Event) bool { return e.Kind == history.KindGranted && e.Mode == fence.Shared }) {
		return "", "", 0
	}
	clocks := judge.Clocks{TTL: w.lease()}
	if p.UntilTold {
		clocks.TTL = judge.UntilTold
	}
	account := judge.Locks(events, clocks)
	switch {
	case p.Exclusive && (account.Exclusive == lockmodel.No || account.Stray):
		kind = Overlap
	case p.Ordered && account.Ordered == lockmodel.No:
		kind = Disorder
	default:
		return "", "", 0
	}
	return kind, strings.Join(account.Reasons, "; "), account.At
}

// lease is for how long a client has its lock at least.
func (w *World) lease() (least time.Duration) {
	for _, c := range w.Variant.Clients {
		if ttl := c.Time(setting.TTL); least == 0 || ttl < least {
			least = ttl
		}
	}
	return least
}
