package verdict

import (
	"cmp"

	"github.com/fencelab/fencelab/internal/history"
)

// action is what a client asked for, by steps of these names, and what became of it; "": it
// was not told yet.
type action struct {
	names  []string
	became string
}

func steps(events []history.Event) map[string]string {
	became, latest := make(map[string]string), make(map[string]*action)
	for _, e := range events {
		key := cmp.Or(e.Request, e.Lane+" "+e.Op+" "+e.Scope)
		switch what := latest[key]; {
		case e.Kind == history.KindInvoke:
			latest[key] = &action{names: named(e.Step)}
		case e.Kind == history.KindNote && e.Step != "" && e.Op == "": // it has done that by itself
			became[e.Step] = history.StepOK
		case what == nil:
		case e.Kind == history.KindNote:
			what.names = append(what.names, named(e.Step)...)
		case outcome(e) != "":
			what.became = outcome(e)
		}
		if what := latest[key]; what != nil && what.became != "" {
			for _, name := range what.names {
				became[name] = what.became
			}
		}
	}
	return became
}

func named(step string) []string {
	if step == "" {
		return nil
	}
	return []string{step}
}

// outcome is how a step ends of which a client was told this, "" if this is no answer.
func outcome(e history.Event) string {
	switch {
	case e.Kind == history.KindUnknown:
		return history.StepUnknown
	case e.Kind == history.KindFail:
		return cmp.Or(refusal(e.Reason), history.StepFailed)
	case e.Kind != history.KindOK:
		return ""
	case e.Op == history.OpRead && e.Missing:
		return history.StepNothing
	case e.Op == history.OpRead:
		return history.StepFound + e.Value
	}
	return history.StepOK
}
