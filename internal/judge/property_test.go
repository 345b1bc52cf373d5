package judge_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge"
	"github.com/fencelab/fencelab/pkg/fence"
)

// run is a run at random: holders come and go, and go on with what they held. The
// storage keeps the rule of package fence, or, unfenced, no rule.
type run struct {
	unfenced bool
	events   []history.Event
	held     map[string]fence.Token // client → its last tenure, which may be over
	current  fence.Token
	mark     fence.Mark
	data     map[string]string
	// What a storage without the check let happen.
	staleWrite, stale bool
}

func (r *run) tell(e history.Event) { r.events = append(r.events, e) }

func tenureOf(token fence.Token) string { return fmt.Sprint("/lock/x@", token) }

func (r *run) lock(client string) {
	if r.current != 0 {
		r.tell(history.Event{Lane: "etcd", Kind: history.KindEnded, Scope: "/lock", Tenure: tenureOf(r.current), Cause: history.CauseExpired})
	}
	r.current++
	r.held[client] = r.current
	r.tell(history.Event{Lane: client, Kind: history.KindInvoke, Op: history.OpLock, Scope: "/lock"})
	granted := history.Event{Lane: "etcd", Kind: history.KindGranted, Scope: "/lock", Tenure: tenureOf(r.current), Token: r.current, Client: client}
	r.tell(granted)
	granted.Lane, granted.Kind, granted.Op = client, history.KindOK, history.OpLock
	r.tell(granted)
}

func (r *run) ask(client, op, key string) {
	e := history.Event{
		Lane: client, Client: client, Kind: history.KindInvoke, Op: op, Scope: "/lock", Key: key,
		Request: fmt.Sprint(client, "-", len(r.events)), Tenure: tenureOf(r.held[client]), Token: r.held[client],
	}
	if op == history.OpWrite {
		e.Value = e.Request
	}
	r.tell(e)
	there, told := e, e
	there.Lane, there.Kind, there.Tenure, told.Kind = history.LaneStorage, history.KindApplied, "", history.KindOK
	mark, err := r.mark.Admit(fence.Claim{Token: e.Token})
	if err == nil || r.unfenced {
		r.mark = mark
		r.stale = r.stale || err != nil
		r.staleWrite = r.staleWrite || err != nil && op != history.OpRead
		r.apply(&there)
		told.Value, told.Missing = there.Value, there.Missing
	} else {
		there.Kind, told.Kind = history.KindRefused, history.KindFail
		there.Reason, told.Reason, there.Mark, told.Mark = "stale", "stale", r.mark.Token, r.mark.Token
	}
	r.tell(there)
	r.tell(told)
}

func (r *run) apply(e *history.Event) {
	switch e.Op {
	case history.OpWrite:
		r.data[e.Key] = e.Value
	case history.OpDelete:
		delete(r.data, e.Key)
	default:
		var there bool
		e.Value, there = r.data[e.Key]
		e.Missing = !there
	}
}

// TestAnyRun: with the check every run is safe, and the storage is fenced by the
// second opinion, too. Without it both find exactly what it would have kept out.
func TestAnyRun(t *testing.T) {
	keys := []string{"k", "m"}
	rapid.Check(t, func(t *rapid.T) {
		r := run{unfenced: rapid.Bool().Draw(t, "unfenced"), held: make(map[string]fence.Token), data: make(map[string]string)}
		r.tell(history.Event{Lane: history.LaneLab, Kind: history.KindRun, Run: &history.Run{}})
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			client := rapid.SampledFrom([]string{"c1", "c2", "c3"}).Draw(t, "client")
			op := rapid.SampledFrom([]string{history.OpLock, history.OpWrite, history.OpDelete, history.OpRead}).Draw(t, "op")
			if op == history.OpLock || r.held[client] == 0 {
				r.lock(client)
			} else {
				r.ask(client, op, rapid.SampledFrom(keys).Draw(t, "key"))
			}
		}
		for _, key := range keys {
			e := history.Event{Lane: history.LaneStorage, Kind: history.KindFinal, Key: key}
			r.apply(&e)
			r.tell(e)
		}
		name, fenced := history.Safe, judge.Yes
		if r.staleWrite {
			name = history.Corrupted
		}
		if r.stale {
			fenced = judge.No
		}
		if j, err := judge.Judge(r.events); err != nil || j.Name != name || j.Storage.Fenced != fenced {
			t.Errorf("%s, fenced: %s, want %s, %s; violations %+v, %v", j.Name, j.Storage.Fenced, name, fenced, j.Violations, err)
		}
	})
}
