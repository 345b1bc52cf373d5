package judge

import (
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge/linear"
)

// faults are what was done to clients, storage and lock service, until it was undone, or to the end.
func faults(events []history.Event) []linear.Fault {
	now := clock(events)
	var list []linear.Fault
	under := make(map[string][]int) // lane and what undoes it → faults
	for i, e := range events {
		effect := effects[string(e.Kind)]
		if e.Kind == history.KindNetwork {
			effect = effects[e.Cause]
		}
		if effect.name != "" {
			list = append(list, linear.Fault{Name: e.Lane + ": " + effect.name, Start: now[i], End: now[i]})
		}
		if undone := e.Lane + " " + effect.undone; effect.undone != "" {
			list[len(list)-1].End = now[len(now)-1]
			under[undone] = append(under[undone], len(list)-1)
		}
		undoes := e.Lane + " " + effect.undoes
		for _, k := range under[undoes] {
			list[k].End = now[i]
		}
		delete(under, undoes)
	}
	return list
}

// effects say what a kind of event, or of network fault, does to its lane, what undoes it, what it undoes.
var effects = map[string]struct{ name, undone, undoes string }{
	string(history.KindPause): {"pause", "resume", ""}, string(history.KindResume): {undoes: "resume"},
	string(history.KindKill): {"kill", "restart", ""}, string(history.KindRestart): {"restart", "", "restart"},
	history.CausePartition: {history.CausePartition, history.CauseHeal, ""}, history.CauseDeafen: {history.CauseDeafen, history.CauseHeal, ""},
	history.CauseHeal:  {undoes: history.CauseHeal},
	history.CauseDelay: {history.CauseDelay, history.CauseDeliver, ""}, history.CauseDeliver: {undoes: history.CauseDeliver},
	history.CauseReset: {name: history.CauseReset},
}
