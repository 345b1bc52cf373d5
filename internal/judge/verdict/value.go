package verdict

import (
	"fmt"

	"github.com/fencelab/fencelab/internal/history"
)

// values follows what the storage holds: a read, and the end, find what was changed last. A storage that was
// started again may have lost what it told nobody of.
type values struct {
	*judge
	changes map[string][]*change // key → those of it that are there, the last one last
	open    map[string]bool      // those of which a change had no answer
	restart int                  // of the storage: the last event of it
	lost    map[int][]*change    // restart → what it lost
}

type change struct {
	event  int
	place  int // in the order of judgement
	by     *attempt
	tenure *tenure // nil: of no tenure
	found  bool    // by a read
}

// compareValues holds what was found against what was written, and says what was lost with which restart.
func (j *judge) compareValues(order []int) (lost map[int][]*change) {
	v := values{judge: j, changes: make(map[string][]*change), open: make(map[string]bool), lost: make(map[int][]*change)}
	for _, i := range order {
		e := j.events[i]
		switch {
		case e.Kind == history.KindRestart && e.Lane == history.LaneStorage:
			v.restart = i
		case e.Kind == history.KindUnanswered && e.Op != history.OpRead:
			v.open[e.Key] = true
		case e.Kind == history.KindFinal, e.Kind == history.KindApplied && e.Op == history.OpRead:
			v.found(i, e)
		case e.Kind == history.KindApplied:
			v.changes[e.Key] = append(v.changes[e.Key], &change{event: i, by: j.attempt(e)})
		}
	}
	return v.lost
}

func (v *values) found(i int, e history.Event) {
	if v.open[e.Key] {
		return
	}
	changes := v.changes[e.Key]
	for n := len(changes); n > 0 && !v.left(changes[n-1], e) && v.mayBeLost(changes[n-1]); n-- {
		v.lost[v.restart] = append(v.lost[v.restart], changes[n-1])
		changes = changes[:n-1]
	}
	v.changes[e.Key] = changes
	if len(changes) == 0 {
		if !e.Missing {
			v.violate(history.Lost, -1, i, "%s, and nobody wrote that", holds(e))
		}
		return
	}
	last := changes[len(changes)-1]
	if !v.left(last, e) {
		v.violate(history.Lost, last.event, i, "%s is lost: afterwards %s", v.name(last.event), holds(e))
	} else if e.Kind == history.KindApplied {
		last.found = true
	}
}

// left reports whether what was found is what a change left.
func (v *values) left(c *change, found history.Event) bool {
	if v.events[c.event].Op == history.OpDelete {
		return found.Missing
	}
	return !found.Missing && found.Value == v.events[c.event].Value
}

// mayBeLost reports whether a change may be gone: the storage was restarted, and had told nobody of it.
func (v *values) mayBeLost(c *change) bool {
	return c.event < v.restart && !c.found && !c.by.acknowledged
}

func holds(e history.Event) string {
	if e.Missing {
		return fmt.Sprintf("%s has no value", e.Key)
	}
	return fmt.Sprintf("%s holds %q", e.Key, e.Value)
}
