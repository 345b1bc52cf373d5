package hunt

import (
	"fmt"
	"slices"

	"github.com/fencelab/fencelab/internal/scenario"
)

// undoes are the first words of faults that end others.
var undoes = []string{"resume", "restart", "heal"}

// promote is the first word of a fault that has another server lead.
const promote = "promote"

// heal is the next step by which a story is healed: all that stands still goes on, what was begun is finished, who holds
// lets go, who waits is awaited; then each lock is asked for once more, and used.
func (t *teller) heal(now stand) (step scenario.Step, more bool) {
	for _, line := range t.healing(now) {
		if t.asked[line] {
			continue
		}
		t.asked[line] = true
		if step, ok := t.take(now, line); ok {
			return step, true
		}
	}
	return step, false
}

func (t *teller) healing(now stand) (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	add("gcsim: restart storage")
	add("gcsim: resume storage")
	for _, step := range t.w.plan {
		if verb := string(step.Verb); verb == promote || slices.Contains(undoes, verb) {
			add("%s", step)
		}
	}
	var runs []string
	for _, name := range t.w.Scenario.Clients {
		for _, end := range []string{"resume", "await", "heal", "deliver"} {
			add("gcsim: %s %s", end, name)
		}
		add("%s: finish", name)
		if now.Clients[name].Stopped != scenario.Killed {
			runs = append(runs, name)
		}
	}
	if len(runs) == 0 {
		add("gcsim: restart %s", t.w.Scenario.Clients[0])
		return lines
	}
	for _, name := range runs {
		if now.holds(name) {
			add("%s: unlock", name)
		}
		for _, lock := range now.Clients[name].MayHold {
			if now.holds(name) {
				add("%s: unlock %s", name, lock)
			}
		}
	}
	for _, name := range runs {
		for _, lock := range now.Clients[name].Queued {
			add("%s: lock %s within %s", name, lock, t.w.patience())
		}
	}
	for i, lock := range t.w.Variant.Locks() {
		name := runs[(t.writes+i)%len(runs)]
		add("%s: lock %s within %s", name, lock, t.w.patience())
		if now.had(name) && !t.w.locks {
			add("%s: %s", name, t.w.writes(t.w.keys[0], name+"-last")[0])
		}
	}
	return lines
}
