package history

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencelab/fencelab/pkg/fence"
)

// belief is a Holding in short. The spans are the places of the events in which they begin and
// in which they are over, or the number of events.
type belief struct {
	client         string
	n              int
	held, believed span
}

type span struct{ from, to int }

// spanOf is the span between two entries of so many events.
func spanOf(from, to Entry, events int) span {
	switch {
	case !from.Came():
		return span{}
	case !to.Came():
		return span{from.Line - 1, events}
	}
	return span{from.Line - 1, to.Line - 1}
}

// TestBeliefs: what a client makes of a tenure is another matter than the lock service's account.
func TestBeliefs(t *testing.T) {
	told := func(client string, kind Kind, op, tenure string) Event {
		return Event{Lane: client, Kind: kind, Op: op, Scope: "/l", Tenure: tenure}
	}
	service := func(kind Kind, client, tenure string) Event {
		return Event{Lane: "etcd", Kind: kind, Client: client, Scope: "/l", Tenure: tenure}
	}
	asks := func(client, tenure string) Event {
		return Event{Lane: client, Kind: KindInvoke, Op: OpWrite, Request: "r", Scope: "/l", Tenure: tenure}
	}
	granted, ok := service(KindGranted, "c1", "A"), told("c1", KindOK, OpLock, "A")
	ended := service(KindEnded, "c1", "A")
	for name, test := range map[string]struct {
		events []Event
		want   []belief
	}{
		"it believes on after its lease has ended, until it is told": {
			[]Event{granted, ok, ended, asks("c1", "A"), told("c1", KindLost, "", "A"), told("c1", KindNote, "", "")},
			[]belief{{"c1", 1, span{0, 2}, span{1, 4}}},
		},
		"what is not over ends after the last event": {
			[]Event{granted, ok, asks("c1", "A")},
			[]belief{{"c1", 1, span{0, 3}, span{1, 3}}},
		},
		"who lets go believes no longer, whatever comes of it": {
			[]Event{granted, ok, told("c1", KindInvoke, OpUnlock, "A"), told("c1", KindUnknown, OpUnlock, "A"), ended},
			[]belief{{"c1", 1, span{0, 4}, span{1, 2}}},
		},
		"a lock may be let go by its name": {
			[]Event{granted, ok, told("c1", KindInvoke, OpUnlock, ""), ended},
			[]belief{{"c1", 1, span{0, 3}, span{1, 2}}},
		},
		"another lock's is another matter": {
			[]Event{granted, ok, {Lane: "c1", Kind: KindInvoke, Op: OpUnlock, Scope: "/m"}},
			[]belief{{"c1", 1, span{0, 3}, span{1, 3}}},
		},
		"who looks and finds that the lock is not its own believes no longer": {
			[]Event{granted, ok, ended, {Lane: "c1", Kind: KindFail, Op: OpWrite, Tenure: "A", Reason: "lost"}},
			[]belief{{"c1", 1, span{0, 2}, span{1, 3}}},
		},
		"who fails otherwise believes on": {
			[]Event{granted, ok, ended, {Lane: "c1", Kind: KindFail, Op: OpWrite, Tenure: "A", Reason: "stale"}},
			[]belief{{"c1", 1, span{0, 2}, span{1, 4}}},
		},
		"who was told and writes all the same knows better": {
			[]Event{granted, ok, ended, told("c1", KindLost, "", "A"), asks("c1", "A")},
			[]belief{{"c1", 1, span{0, 2}, span{1, 3}}},
		},
		"the dead believe nothing": {
			[]Event{granted, ok, {Lane: "c1", Kind: KindKill}, ended},
			[]belief{{"c1", 1, span{0, 3}, span{1, 2}}},
		},
		"who waits and works believes what is not so": {
			[]Event{granted, service(KindQueued, "c2", "B"), asks("c2", "B")},
			[]belief{{"c1", 1, span{0, 3}, span{}}, {"c2", 0, span{}, span{2, 3}}},
		},
		"two clients in one tenure": {
			[]Event{granted, ok, told("c2", KindOK, OpTryLock, "A"), ended},
			[]belief{{"c1", 1, span{0, 3}, span{1, 4}}, {"c2", 1, span{0, 3}, span{2, 4}}},
		},
		"an old tenure's end is not that of the new one": {
			[]Event{granted, ok, ended, service(KindGranted, "c1", "B"), told("c1", KindOK, OpLock, "B"), told("c1", KindLost, "", "A")},
			[]belief{{"c1", 1, span{0, 2}, span{1, 5}}, {"c1", 2, span{3, 6}, span{4, 6}}},
		},
		"who stands still believes on": {
			[]Event{granted, ok, {Lane: "c1", Kind: KindPause}},
			[]belief{{"c1", 1, span{0, 3}, span{1, 3}}},
		},
		"who asks nobody takes nothing for its own": {
			[]Event{granted, {Lane: "c1", Kind: KindInvoke, Op: OpRead, Tenure: "A"}},
			[]belief{{"c1", 1, span{0, 2}, span{}}},
		},
		"who does not get the lock believes nothing": {
			[]Event{granted, told("c1", KindFail, OpLock, "A")},
			[]belief{{"c1", 1, span{0, 2}, span{}}},
		},
		"another's unlock is another matter": {
			[]Event{granted, ok, told("c2", KindInvoke, OpUnlock, "A")},
			[]belief{{"c1", 1, span{0, 3}, span{1, 3}}},
		},
		"who is told of a loss twice, or believed nothing": {
			[]Event{granted, told("c1", KindLost, "", "A"), ok, told("c1", KindLost, "", "A"), told("c1", KindLost, "", "A")},
			[]belief{{"c1", 1, span{0, 5}, span{2, 3}}},
		},
		"whose word comes before the grant": {
			[]Event{ok, told("c1", KindInvoke, OpUnlock, "")},
			[]belief{{"c1", 0, span{}, span{0, 1}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []belief
			l := Fold(test.events)
			for _, h := range l.Holdings {
				n := len(test.events)
				got = append(got, belief{h.Client, h.N, spanOf(h.Granted, h.Tenure.Ended, n), spanOf(h.Began, h.Ended, n)})
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(belief{}, span{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			for _, client := range []string{"c1", "c2"} {
				believes := 0
				for _, b := range test.want {
					if b.client == client && b.believed != (span{}) && b.believed.to == len(test.events) {
						believes++
					}
				}
				if got := l.Actor(client).Believes; got != believes {
					t.Errorf("%s believes in %d tenures, want %d", client, got, believes)
				}
			}
		})
	}
}

// TestLedger: what a ledger says after events.
func TestLedger(t *testing.T) {
	granted := Event{Lane: "etcd", Kind: KindGranted, Client: "c1", Tenure: "A", Scope: "/l", Token: 1}
	queued := Event{Lane: "etcd", Kind: KindQueued, Client: "c2", Tenure: "B", Scope: "/l", Token: 2}
	second := Event{Lane: "etcd", Kind: KindGranted, Client: "c2", Tenure: "B", Scope: "/l", Token: 2}
	ended := Event{Lane: "etcd", Kind: KindEnded, Client: "c1", Tenure: "A", Cause: CauseExpired}
	unseen := Event{Lane: "etcd", Kind: KindGranted, Tenure: "A", Scope: "/l"}
	by := func(lane string, kind Kind) Event { return Event{Lane: lane, Kind: kind} }
	of := func(kind Kind, cause string) Event { return Event{Lane: "c1", Kind: kind, Cause: cause} }
	lock := func(client string, kind Kind, tenure string) Event {
		return Event{Lane: client, Kind: kind, Op: OpLock, Scope: "/l", Tenure: tenure}
	}
	change := Event{Lane: "c1", Kind: KindInvoke, Op: OpChange, Request: "r", Changes: []Change{{"a", "1"}, {"b", "1"}}}
	part := Event{Lane: LaneStorage, Kind: KindApplied, Op: OpWrite, Request: "r", Key: "a", Value: "1"}
	fails := Event{Lane: "c1", Kind: KindFail, Op: OpWrite, Request: "r"}
	refused := fails
	refused.Reason = "stale"
	mark := part
	mark.Scope, mark.Mark = "/l", 3
	unmarked := mark
	unmarked.Mark = 0
	other := granted
	other.Tenure = "C"
	gone := Event{Lane: LaneStorage, Kind: KindApplied, Op: OpDelete, Key: "a"}
	end := func(value string, missing bool) Event {
		return Event{Lane: LaneStorage, Kind: KindFinal, Key: "a", Value: value, Missing: missing}
	}
	holds := func(client string, ids ...string) func(l *Ledger) (got, want any) {
		return func(l *Ledger) (got, want any) {
			held := []string{}
			for _, t := range l.Actor(client).Holds {
				held = append(held, t.ID)
			}
			return held, append([]string{}, ids...)
		}
	}
	is := func(want any, of func(l *Ledger) any) func(l *Ledger) (any, any) {
		return func(l *Ledger) (any, any) { return of(l), want }
	}
	for name, test := range map[string]struct {
		events []Event
		said   func(l *Ledger) (got, want any)
	}{
		"a grant":                                    {[]Event{granted}, holds("c1", "A")},
		"its end":                                    {[]Event{granted, ended}, holds("c1")},
		"another's end":                              {[]Event{granted, second, ended}, holds("c2", "B")},
		"a place in the queue is no grant":           {[]Event{granted, queued}, holds("c2")},
		"two tenures of two clients":                 {[]Event{queued, granted, ended, second}, holds("c2", "B")},
		"another's, of which it was told":            {[]Event{granted, lock("c2", KindOK, "A")}, holds("c2", "A")},
		"another's end, of which it was told":        {[]Event{granted, lock("c2", KindOK, "A"), ended}, holds("c2")},
		"its own, of which it was told twice":        {[]Event{granted, lock("c1", KindOK, "A"), lock("c1", KindOK, "A")}, holds("c1", "A")},
		"what is over, of which it is told":          {[]Event{granted, ended, lock("c2", KindOK, "A")}, holds("c2")},
		"grants are counted":                         {[]Event{granted, queued, ended, second}, is(2, func(l *Ledger) any { return l.Tenure("B").N })},
		"who queues has no grant":                    {[]Event{granted, queued}, is(0, func(l *Ledger) any { return l.Tenure("B").N })},
		"a grant's token":                            {[]Event{queued, second}, is(fence.Token(2), func(l *Ledger) any { return l.Tenure("B").Token })},
		"why it ended":                               {[]Event{granted, ended}, is(CauseExpired, func(l *Ledger) any { return l.Tenure("A").Ended.Cause })},
		"granted once more, it goes on":              {[]Event{granted, ended, granted}, is(false, func(l *Ledger) any { return l.Tenure("A").Ended.Came() })},
		"a grant is the first one":                   {[]Event{granted, ended, granted}, is(1, func(l *Ledger) any { return l.Tenure("A").Granted.Line })},
		"nothing is known of it":                     {nil, is(false, func(l *Ledger) any { return l.Tenure("A").Known() })},
		"nobody's":                                   {[]Event{unseen}, is("", func(l *Ledger) any { return l.Tenure("A").Client })},
		"the latest":                                 {[]Event{granted, second}, is("A", func(l *Ledger) any { return l.Actor("c1").Latest.ID })},
		"who is told of a loss":                      {[]Event{granted, {Lane: "c1", Kind: KindLost, Tenure: "A"}}, is(true, func(l *Ledger) any { return l.Holding("c1", "A").Lost })},
		"another makes nothing of it":                {[]Event{granted}, is((*Holding)(nil), func(l *Ledger) any { return l.Holding("c2", "A") })},
		"who has asked waits":                        {[]Event{lock("c1", KindInvoke, "")}, is(Kind(""), func(l *Ledger) any { return l.Ask("c1", "/l").Answer.Kind })},
		"who was answered does not":                  {[]Event{lock("c1", KindInvoke, ""), lock("c1", KindFail, "")}, is(KindFail, func(l *Ledger) any { return l.Ask("c1", "/l").Answer.Kind })},
		"who asks anew waits again":                  {[]Event{lock("c1", KindInvoke, ""), lock("c1", KindFail, ""), lock("c1", KindInvoke, "")}, is(Kind(""), func(l *Ledger) any { return l.Ask("c1", "/l").Answer.Kind })},
		"who asks anew asks once":                    {[]Event{lock("c1", KindInvoke, ""), lock("c1", KindInvoke, "")}, is(1, func(l *Ledger) any { return len(l.Asks) })},
		"another's answer":                           {[]Event{lock("c1", KindInvoke, ""), lock("c2", KindFail, "")}, is(Kind(""), func(l *Ledger) any { return l.Ask("c1", "/l").Answer.Kind })},
		"half of a change":                           {[]Event{change, part}, is(false, func(l *Ledger) any { return l.Request("r").Done() })},
		"a change":                                   {[]Event{change, part, part}, is(true, func(l *Ledger) any { return l.Request("r").Done() })},
		"the storage tells first":                    {[]Event{part, {Lane: "c1", Kind: KindInvoke, Op: OpWrite, Request: "r"}}, is(true, func(l *Ledger) any { return l.Request("r").Done() })},
		"nothing is told":                            {[]Event{change}, is(false, func(l *Ledger) any { return l.Request("r").Done() })},
		"a failure without a reason":                 {[]Event{change, fails}, is(false, func(l *Ledger) any { return l.Request("r").Known() })},
		"a refusal":                                  {[]Event{change, refused}, is(true, func(l *Ledger) any { return l.Request("r").Known() })},
		"the first answer":                           {[]Event{change, refused, fails}, is(2, func(l *Ledger) any { return l.Request("r").Answer.Line })},
		"a part of a transaction":                    {[]Event{change, {Lane: "c1", Kind: KindNote, Request: "r"}}, is(true, func(l *Ledger) any { return l.Request("r").Pending })},
		"it stands still":                            {[]Event{of(KindPause, CauseGC)}, is(true, func(l *Ledger) any { return l.Actor("c1").Paused() })},
		"it goes on":                                 {[]Event{of(KindPause, CauseGC), of(KindResume, CauseGC)}, is(false, func(l *Ledger) any { return l.Actor("c1").Paused() })},
		"who stands still and asks stands":           {[]Event{of(KindPause, ""), change}, is(true, func(l *Ledger) any { return l.Actor("c1").Paused() })},
		"it is dead":                                 {[]Event{by("c1", KindKill)}, is(true, func(l *Ledger) any { return l.Actor("c1").Dead() })},
		"it is started again":                        {[]Event{by("c1", KindKill), by("c1", KindRestart)}, is(false, func(l *Ledger) any { return l.Actor("c1").Dead() })},
		"who asks runs":                              {[]Event{by("c1", KindKill), change}, is(false, func(l *Ledger) any { return l.Actor("c1").Dead() })},
		"a storage that does something runs":         {[]Event{by(LaneStorage, KindKill), part}, is(false, func(l *Ledger) any { return l.Actor(LaneStorage).Dead() })},
		"it is cut off":                              {[]Event{of(KindNetwork, CausePartition)}, is(true, func(l *Ledger) any { return l.Actor("c1").Cut })},
		"delayed, too":                               {[]Event{of(KindNetwork, CausePartition), of(KindNetwork, CauseDelay)}, is(true, func(l *Ledger) any { return l.Actor("c1").Cut })},
		"delayed":                                    {[]Event{of(KindNetwork, CauseDelay)}, is(false, func(l *Ledger) any { return l.Actor("c1").Cut })},
		"the network works":                          {[]Event{of(KindNetwork, CausePartition), of(KindNetwork, CauseHeal)}, is(false, func(l *Ledger) any { return l.Actor("c1").Cut })},
		"a value":                                    {[]Event{part}, is("1", func(l *Ledger) any { return l.Values["a"].Value })},
		"a value that is deleted":                    {[]Event{part, gone}, is(0, func(l *Ledger) any { return len(l.Values) })},
		"a value that is not there at the end":       {[]Event{part, end("", true)}, is(0, func(l *Ledger) any { return len(l.Values) })},
		"a value that is another at the end":         {[]Event{part, end("2", false)}, is("2", func(l *Ledger) any { return l.Values["a"].Value })},
		"a value at the end is whose it was":         {[]Event{part, end("1", false)}, is(KindApplied, func(l *Ledger) any { return l.Values["a"].Kind })},
		"a mark":                                     {[]Event{mark, part}, is(fence.Token(3), func(l *Ledger) any { return l.Marks["/l"] })},
		"what is refused changes nothing":            {[]Event{{Lane: LaneStorage, Kind: KindRefused, Op: OpWrite, Key: "a", Mark: 2, Request: "r"}}, is(0, func(l *Ledger) any { return len(l.Values) + len(l.Marks) })},
		"one of its two":                             {[]Event{granted, other, ended}, holds("c1", "C")},
		"another's, of which it was told twice":      {[]Event{granted, lock("c2", KindOK, "A"), lock("c2", KindOK, "A")}, holds("c2", "A")},
		"its own, of which it was told first":        {[]Event{lock("c1", KindOK, "A"), granted}, holds("c1", "A")},
		"its own, of which it was told in the queue": {[]Event{queued, lock("c2", KindOK, "B"), second}, holds("c2", "B")},
		"whose it is":                                {[]Event{granted}, is("c1", func(l *Ledger) any { return l.Tenure("A").Client })},
		"a place in the queue is the first one":      {[]Event{queued, queued}, is(1, func(l *Ledger) any { return l.Tenure("B").Queued.Line })},
		"nothing is told of a write":                 {[]Event{{Lane: "c1", Kind: KindInvoke, Op: OpWrite, Request: "r"}}, is(false, func(l *Ledger) any { return l.Request("r").Done() })},
		"several values at once":                     {[]Event{{Lane: LaneStorage, Kind: KindApplied, Op: OpChange, Changes: change.Changes}}, is("1", func(l *Ledger) any { return l.Values["b"].Value })},
		"what raises no mark":                        {[]Event{mark, unmarked}, is(fence.Token(3), func(l *Ledger) any { return l.Marks["/l"] })},
	} {
		t.Run(name, func(t *testing.T) {
			got, want := test.said(Fold(test.events))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestFoundOut: who runs a run can find out whose a tenure is before the lock service tells of
// it, and after; and that a request is lost.
func TestFoundOut(t *testing.T) {
	for name, first := range map[string]bool{"before": true, "after": false} {
		l := NewLedger()
		if first {
			l.Tenure("A").Client = "c1"
		}
		l.Take(Event{Lane: "etcd", Kind: KindGranted, Tenure: "A", Scope: "/l"})
		if !first {
			l.Tenure("A").Client = "c1"
		}
		if a := l.Tenure("A"); a.Client != "c1" || a.Scope != "/l" || !a.Granted.Came() {
			t.Errorf("%s it was told, it is %+v", name, a)
		}
	}
	l := Fold([]Event{{Lane: "c1", Kind: KindInvoke, Op: OpWrite, Request: "r"}})
	if l.Request("r").Lost = true; !l.Request("r").Done() {
		t.Error("more is to come of a request that is lost")
	}
	if l.Request("").Lost = true; l.Request("").Lost || len(l.Requests) != 1 {
		t.Error("something is known of a request without a name")
	}
}

// TestForget: a storage that had all in its memory has nothing.
func TestForget(t *testing.T) {
	l := Fold([]Event{{Lane: LaneStorage, Kind: KindApplied, Op: OpWrite, Key: "a", Value: "1", Scope: "/l", Mark: 1}})
	if l.Forget(); len(l.Values)+len(l.Marks) > 0 {
		t.Errorf("it has %v and %v", l.Values, l.Marks)
	}
}
