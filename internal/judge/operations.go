package judge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge/linear"
	"github.com/fencelab/fencelab/pkg/fence"
)

// operations are a run's operations on the storage: what the clients sent and were answered, and what was there
// at the end. The storage's own account says only with which claim a request came, which is not its client's in
// every run. An error says why they cannot be judged.
func operations(events []history.Event) ([]linear.Op, error) {
	if run := events[0].Run; run.InService {
		return nil, fmt.Errorf("the data lies in %s, whose account has no tokens", run.LockService())
	}
	now := clock(events)
	answers := make(map[string]int)           // request → event
	arrived := make(map[string]history.Event) // request → what the storage told of it
	for i, e := range events {
		switch e.Kind {
		case history.KindOK, history.KindFail, history.KindUnknown:
			answers[e.Request] = i
		case history.KindApplied, history.KindRefused, history.KindDuplicate:
			arrived[e.Request] = e
		}
	}
	var ops []linear.Op
	var clients lanes
	for i, e := range events {
		op, is := linear.Op{Input: input(e), Call: now[i], Return: now[i]}, true
		switch {
		case op.Input.Kind == "":
			continue
		case e.Kind == history.KindFinal:
			op.Output = found(e)
			op.Output.Token, op.Output.Bare = int64(e.Token), e.Token == 0 // that of who wrote it
		default:
			there, did := arrived[e.Request]
			if did {
				op.Input.Scope, op.Input.Token, op.Input.Sequence = there.Scope, int64(there.Token), there.Sequence
				op.Input.Shared = there.Mode == fence.Shared
			}
			op.Output = linear.Output{Outcome: linear.Unknown}
			if k, answered := answers[e.Request]; answered {
				// Where the clock stepped back the answer may stand before the question.
				op.Call, op.Return = min(now[i], now[k]), max(now[i], now[k])
				op.Output, is = output(op.Input, events[k], there, did)
			}
		}
		if is {
			op.Client = clients.take(e.Lane, op)
			ops = append(ops, op)
		}
	}
	return ops, byScope(ops)
}

// clock is when events happened, no two at the same time: their order counts where the clock does not tell.
func clock(events []history.Event) []int64 {
	times := make([]int64, len(events))
	for i, e := range events {
		times[i] = int64(e.At)
		if i > 0 {
			times[i] = max(times[i], times[i-1]+1)
		}
	}
	return times
}

// input is what an event asks the storage for; of no kind where it does not.
func input(e history.Event) linear.Input {
	if e.Kind == history.KindFinal {
		return linear.Input{Name: "at the end", Kind: linear.Read, Key: e.Key}
	}
	in := linear.Input{Name: e.Request, Scope: e.Scope, Token: int64(e.Token), Sequence: e.Sequence, Shared: e.Mode == fence.Shared}
	switch {
	case e.Kind != history.KindInvoke || e.Request == "": // a client that only looked sent nothing
	case e.Op == history.OpRead:
		in.Kind, in.Key = linear.Read, e.Key
	case e.Op == history.OpWrite:
		in.Kind, in.Changes = linear.Write, []linear.Change{{Key: e.Key, Value: e.Value}}
	case e.Op == history.OpDelete:
		in.Kind, in.Changes = linear.Delete, []linear.Change{{Key: e.Key, Delete: true}}
	case len(e.Changes) > 0:
		in.Kind = linear.Batch
		for _, c := range e.Changes {
			in.Changes = append(in.Changes, linear.Change{Key: c.Key, Value: c.Value})
		}
	}
	return in
}

// output is what a client was answered. happened is false where its request had no effect for a reason that is
// none of fencing. there is what the storage told of the request, if it did. A client's ok of what the storage
// refused is the client's mistake: the answer was the refusal.
func output(in linear.Input, answer, there history.Event, did bool) (out linear.Output, happened bool) {
	if answer.Kind == history.KindOK && there.Kind == history.KindRefused {
		answer.Kind, answer.Reason = history.KindFail, there.Reason
	}
	switch {
	case answer.Kind == history.KindUnknown:
		return linear.Output{Outcome: linear.Unknown}, true
	case answer.Kind == history.KindFail:
		out = linear.Output{Outcome: linear.Outcome(answer.Reason), Mark: int64(cmp.Or(answer.Mark, there.Mark))}
		out.Bare = out.Mark == 0
		refusals := []linear.Outcome{linear.Stale, linear.Missing, linear.Invalid, linear.Ahead}
		return out, slices.Contains(refusals, out.Outcome)
	case in.Kind == linear.Read:
		return found(answer), true
	case there.Kind == history.KindDuplicate, in.Sequence != 0 && !did: // of version 1, where the storage does not tell
		return linear.Output{Outcome: linear.Duplicate}, true
	}
	return linear.Output{Outcome: linear.Done}, true
}

func found(e history.Event) linear.Output {
	if e.Missing {
		return linear.Output{Outcome: linear.NotFound}
	}
	return linear.Output{Outcome: linear.Done, Value: e.Value, Bare: true}
}

// byScope gives what came without a token the scope of its keys. Keys of several scopes are an error.
func byScope(ops []linear.Op) error {
	scopes := make(map[string]string) // key → scope
	for _, op := range ops {
		for _, key := range keys(op.Input) {
			scope, known := scopes[key]
			switch {
			case op.Input.Token == 0:
			case known && scope != op.Input.Scope:
				return fmt.Errorf("%s was used under two scopes, %q and %q, and a fenced store is judged scope by scope", key, scope, op.Input.Scope)
			default:
				scopes[key] = op.Input.Scope
			}
		}
	}
	for i, op := range ops {
		if scope, known := scopes[keys(op.Input)[0]]; known {
			ops[i].Input.Scope = scope
		}
	}
	return nil
}

func keys(in linear.Input) []string {
	if in.Kind == linear.Read {
		return []string{in.Key}
	}
	list := make([]string, len(in.Changes))
	for i, c := range in.Changes {
		list[i] = c.Key
	}
	return list
}

// lanes numbers who does one operation after the other. A client with several under way is as many.
type lanes []lane

type lane struct {
	name string
	busy int64 // until then
}

const forever = 1<<63 - 1

func (l *lanes) take(name string, op linear.Op) int {
	until := op.Return
	if op.Output.Outcome == linear.Unknown {
		until = forever
	}
	for i, lane := range *l {
		if lane.name == name && lane.busy < op.Call {
			(*l)[i].busy = until
			return i
		}
	}
	*l = append(*l, lane{name, until})
	return len(*l) - 1
}
