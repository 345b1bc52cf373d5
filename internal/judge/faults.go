package judge

import (
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge/linear"
)

// faults are what was done to clients, to the storage and to the lock service, each until it
// was undone, or to the end.
func faults(events []history.Event) []linear.Fault {
	now := clock(events)
	var list []linear.Fault
	under := make(map[string][]int) // lane and what undoes it → faults
	for i, e := range events {
		name, undone, undoes := effect(e)
		if name != "" {
			list = append(list, linear.Fault{Name: e.Lane + ": " + name, Start: now[i], End: now[i]})
		}
		if undone != "" {
			list[len(list)-1].End = now[len(now)-1]
			under[e.Lane+" "+undone] = append(under[e.Lane+" "+undone], len(list)-1)
		}
		for _, k := range under[e.Lane+" "+undoes] {
			list[k].End = now[i]
		}
		delete(under, e.Lane+" "+undoes)
	}
	return list
}

// effect says what an event does to its lane, if anything, what will undo that,
// and what it undoes.
func effect(e history.Event) (name, undone, undoes string) {
	switch e.Kind {
	case history.KindPause:
		return "pause", "resume", ""
	case history.KindResume:
		return "", "", "resume"
	case history.KindKill:
		return "kill", "restart", ""
	case history.KindRestart:
		return "restart", "", "restart"
	case history.KindNetwork:
		switch e.Cause {
		case history.CausePartition, history.CauseDeafen:
			return e.Cause, history.CauseHeal, ""
		case history.CauseDelay:
			return e.Cause, history.CauseDeliver, ""
		case history.CauseReset:
			return e.Cause, "", ""
		}
		return "", "", e.Cause
	}
	return "", "", ""
}
