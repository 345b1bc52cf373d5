package verdict

import (
	"fmt"

	"github.com/fencelab/fencelab/internal/history"
)

// compareValue holds what a read found against what was written.
func (j *judge) compareValue(i int, e history.Event) {
	changes := j.written[e.Key]
	for n := len(changes); n > 0 && !j.left(changes[n-1], e) && j.mayBeLost(changes[n-1]); n-- {
		changes = changes[:n-1]
	}
	j.written[e.Key] = changes
	if len(changes) == 0 {
		if !e.Missing {
			j.violate(history.Lost, -1, i, "%s, and nobody wrote that", holds(e))
		}
		return
	}
	last := changes[len(changes)-1]
	if !j.left(last, e) {
		j.violate(history.Lost, last.event, i, "%s is lost: afterwards %s", j.name(last.event), holds(e))
	} else if e.Kind == history.KindApplied {
		last.found = true
	}
}

// left reports whether what was found is what a change left.
func (j *judge) left(c *change, found history.Event) bool {
	if j.events[c.event].Op == history.OpDelete {
		return found.Missing
	}
	return !found.Missing && found.Value == j.events[c.event].Value
}

// mayBeLost reports whether a change may be gone: the storage was started again,
// and had told nobody of it.
func (j *judge) mayBeLost(c *change) bool {
	return c.event < j.restart && !c.found && !c.by.acknowledged
}

func holds(e history.Event) string {
	if e.Missing {
		return fmt.Sprintf("%s has no value", e.Key)
	}
	return fmt.Sprintf("%s holds %q", e.Key, e.Value)
}
