package lab

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service/etcd"
	"github.com/fencelab/fencelab/pkg/fence"
)

// TestLateObserver: the observer is told of a release and the next grant after
// the next holder was. The history has one holder at a time all the same.
func TestLateObserver(t *testing.T) {
	r := newRecorder(nil, etcd.Service().SlotOf)
	r.begin(history.Run{})
	s := newState(r)
	tell := func(ms int, e history.Event) {
		e.At = time.Duration(r.began.Add(time.Duration(ms) * time.Millisecond).UnixNano())
		e.Scope = "/lock"
		s.take(e)
	}
	tell(1, history.Event{Lane: "etcd", Kind: history.KindGranted, Tenure: "a"})
	tell(2, history.Event{Lane: "c1", Kind: history.KindOK, Op: history.OpLock, Tenure: "a"})
	tell(10, history.Event{Lane: "c2", Kind: history.KindOK, Op: history.OpLock, Tenure: "b"})
	tell(11, history.Event{Lane: "etcd", Kind: history.KindEnded, Tenure: "a"})
	tell(11, history.Event{Lane: "etcd", Kind: history.KindGranted, Tenure: "b"})
	r.flush()
	var got []string
	for _, e := range r.events()[1:] {
		got = append(got, fmt.Sprint(e.Kind, " ", e.Tenure))
	}
	if want := "granted a, ok a, ended a, granted b, ok b"; strings.Join(got, ", ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, ", "), want)
	}
}

// TestGrantAndReadOfOneTime: a database tells of a grant and of what was read in it with one time, before the client
// says that it was granted the tenure. The grant comes first all the same.
func TestGrantAndReadOfOneTime(t *testing.T) {
	r := newRecorder(nil, func(tenure string) string { return tenure })
	r.begin(history.Run{})
	s := newState(r)
	tell := func(ms int, e history.Event) {
		e.At = time.Duration(r.began.Add(time.Duration(ms) * time.Millisecond).UnixNano())
		s.take(e)
	}
	tell(1, history.Event{Lane: "postgres", Kind: history.KindGranted, Tenure: "a", Scope: "/lock"})
	tell(1, history.Event{Lane: history.LaneStorage, Kind: history.KindApplied, Op: history.OpRead, Request: "c1-1"})
	tell(2, history.Event{Lane: "c1", Kind: history.KindOK, Op: history.OpLock, Tenure: "a", Scope: "/lock"})
	r.flush()
	if events := r.events()[1:]; events[0].Kind != history.KindGranted || events[1].Kind != history.KindApplied {
		t.Errorf("got %s, then %s", events[0].Kind, events[1].Kind)
	}
}

// TestPending: what is part of a transaction happens when its client unlocks, and not before, and
// the unlock is over when the storage has told of it.
func TestPending(t *testing.T) {
	r := newRecorder(nil, func(tenure string) string { return tenure })
	r.begin(history.Run{})
	s := newState(r)
	tell := func(ms int, lane string, kind history.Kind, op string) history.Event {
		e := history.Event{
			At: time.Duration(r.began.Add(time.Duration(ms) * time.Millisecond).UnixNano()), Lane: lane, Kind: kind, Op: op, Tenure: "a", Scope: "/lock",
		}
		if op == history.OpWrite {
			e.Request, e.Key = "c1-1", "k"
		}
		s.take(e)
		return e
	}
	tell(1, "postgres", history.KindGranted, "")
	tell(2, "c1", history.KindOK, history.OpLock)
	tell(3, "c1", history.KindInvoke, history.OpWrite)
	if note := tell(4, "c1", history.KindNote, history.OpWrite); s.client("c1").replies != 2 || !s.told(note) {
		t.Error("the step of the write is not over")
	}
	tell(6, "c1", history.KindInvoke, history.OpUnlock)
	tell(8, "c1", history.KindOK, history.OpWrite)
	if s.client("c1").replies != 2 {
		t.Error("what the write did is taken for the answer to the unlock")
	}
	unlocked := tell(9, "c1", history.KindOK, history.OpUnlock)
	tell(10, "postgres", history.KindEnded, "")
	if s.told(unlocked) {
		t.Error("the unlock is over before the storage has told of the commit")
	}
	tell(5, history.LaneStorage, history.KindApplied, history.OpWrite) // the time of the statement
	if !s.told(unlocked) {
		t.Error("the unlock is not over")
	}
	r.flush()
	var got []string
	for _, e := range r.events()[1:] {
		got = append(got, fmt.Sprint(e.Kind, " ", e.Op))
	}
	want := "granted , ok lock, invoke write, note write, invoke unlock, applied write, ok write, ok unlock, ended "
	if strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
}

// TestTakenAgain: a client that takes the lock again by its renewal is told of nothing. The
// lock service's account says that it has the lock, also where its own word comes late.
func TestTakenAgain(t *testing.T) {
	early := []string{"granted a", "ok a", "ended a", "granted a~2", "ended a~2", "granted a~3"}
	late := []string{"granted a", "ended a", "granted a~2", "ended a~2", "granted a~3", "ok a"}
	for _, told := range [][]string{early, late} {
		r := newRecorder(nil, func(tenure string) string { slot, _, _ := strings.Cut(tenure, "~"); return slot })
		r.begin(history.Run{})
		s := newState(r)
		for i, word := range told {
			kind, tenure, _ := strings.Cut(word, " ")
			e := history.Event{
				At: time.Duration(r.began.Add(time.Duration(i+1) * time.Millisecond).UnixNano()), Lane: "redis",
				Kind: history.Kind(kind), Tenure: tenure, Scope: "/lock",
			}
			if e.Kind == history.KindOK {
				e.Lane, e.Op = "c1", history.OpLock
			}
			s.take(e)
		}
		unlocked := history.Event{Kind: history.KindOK, Op: history.OpUnlock, Tenure: "a"}
		if s.ledger.Holder("/lock") != "c1" || s.told(unlocked) {
			t.Errorf("%q: the lock is held by %q, and its unlock is over: %v", told, s.ledger.Holder("/lock"), s.told(unlocked))
		}
		r.flush()
		words := 0
		for _, e := range r.events()[1:] {
			if e.Kind != history.KindOK && e.Client == "c1" {
				words++
			}
		}
		if words != 5 {
			t.Errorf("%q: %d words of the lock service are about c1, want 5", told, words)
		}
		s.take(history.Event{Lane: "c1", Kind: history.KindInvoke, Op: history.OpUnlock, Tenure: "a", Scope: "/lock"})
		s.take(history.Event{Kind: history.KindEnded, Tenure: "a~3", Scope: "/lock"})
		s.take(history.Event{Kind: history.KindGranted, Tenure: "a~4", Scope: "/lock"})
		if s.ledger.Holder("/lock") != "" || !s.told(unlocked) {
			t.Errorf("%q: when all is over the lock is held by %q, and its unlock is over: %v", told, s.ledger.Holder("/lock"), s.told(unlocked))
		}
	}
}

// TestHadBefore: a client that had the lock for a moment, and gave it back without knowing,
// means by its word the tenure that it was told of.
func TestHadBefore(t *testing.T) {
	r := newRecorder(nil, func(tenure string) string { slot, _, _ := strings.Cut(tenure, "~"); return slot })
	r.begin(history.Run{})
	s := newState(r)
	for i, e := range []history.Event{
		{Lane: "redis", Kind: history.KindGranted, Tenure: "a"},
		{Lane: "redis", Kind: history.KindEnded, Tenure: "a", Cause: history.CauseRevoked, Text: "why"},
		{Lane: "redis", Kind: history.KindGranted, Tenure: "a~2"},
		{Lane: "c1", Kind: history.KindOK, Op: history.OpLock, Tenure: "a"},
		{Lane: "c1", Kind: history.KindInvoke, Op: history.OpWrite, Tenure: "a", Key: "k", Request: "1"},
	} {
		e.At, e.Scope = time.Duration(r.began.Add(time.Duration(i+1)*time.Millisecond).UnixNano()), "/lock"
		s.take(e)
	}
	r.flush()
	var got []string
	for _, e := range r.events()[1:] {
		got = append(got, strings.TrimSpace(fmt.Sprint(e.Kind, " ", e.Tenure, " ", e.Cause, e.Text)))
	}
	if want := "granted a, ended a released, granted a~2, ok a~2, invoke a~2"; strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
}

// TestAccounted: the accounts have all that clients were told of, or not yet.
func TestAccounted(t *testing.T) {
	r := newRecorder(nil, etcd.Service().SlotOf)
	r.begin(history.Run{})
	s := newState(r)
	for i, tt := range []struct {
		e    history.Event
		want bool
	}{
		{history.Event{Lane: "c1", Kind: history.KindOK, Op: history.OpLock, Tenure: "a"}, false},
		{history.Event{Lane: "etcd", Kind: history.KindGranted, Tenure: "a"}, true},
		{history.Event{Lane: "c1", Kind: history.KindInvoke, Op: history.OpRead, Tenure: "a", Key: "k", Request: "1"}, true},
		{history.Event{Lane: "c1", Kind: history.KindOK, Op: history.OpRead, Tenure: "a", Key: "k", Request: "1"}, false},
		{history.Event{Lane: history.LaneStorage, Kind: history.KindApplied, Op: history.OpRead, Key: "k", Request: "1", Index: 1}, true},
		{history.Event{Lane: "c1", Kind: history.KindInvoke, Op: history.OpRead, Tenure: "a", Key: "k", Request: "2"}, true},
		{history.Event{Lane: "c1", Kind: history.KindUnknown, Op: history.OpRead, Tenure: "a", Key: "k", Request: "2"}, true},
		{history.Event{Lane: "etcd", Kind: history.KindEnded, Tenure: "a"}, true},
		{history.Event{Lane: "c2", Kind: history.KindNote, Op: opQueue, Tenure: "b"}, true},
		{history.Event{Lane: "etcd", Kind: history.KindEnded, Tenure: "b"}, true}, // it has left the queue
	} {
		tt.e.At, tt.e.Scope = time.Duration(r.began.Add(time.Second).UnixNano()), "/lock"
		s.take(tt.e)
		if s.accounted() != tt.want {
			t.Errorf("after event %d the accounts have all: %v, want %v", i, !tt.want, tt.want)
		}
	}
}

// TestLateClients: clients tell late, and in another order than that in which they
// were granted the lock. No tenure is over before it began, and no two overlap.
func TestLateClients(t *testing.T) {
	r := newRecorder(nil, etcd.Service().SlotOf)
	r.begin(history.Run{})
	s := newState(r)
	tell := func(ms int, kind history.Kind, lane, tenure string) {
		e := history.Event{At: time.Duration(r.began.Add(time.Duration(ms) * time.Millisecond).UnixNano()), Kind: kind, Lane: lane, Tenure: tenure, Scope: "/lock"}
		if kind == history.KindOK {
			e.Op = history.OpLock
		}
		s.take(e)
	}
	for n, tenure := range []string{"a", "b", "c"} { // the observer is late, too
		tell(20+n, history.KindGranted, "etcd", tenure)
		tell(20+n, history.KindEnded, "etcd", tenure)
	}
	tell(9, history.KindOK, "c3", "c")
	tell(30, history.KindOK, "c1", "a")
	tell(6, history.KindOK, "c2", "b")
	r.flush()
	var got []string
	for _, e := range r.events()[1:] {
		if e.Lane == "etcd" {
			got = append(got, fmt.Sprint(e.Kind, " ", e.Tenure))
		}
	}
	if want := "granted a, ended a, granted b, ended b, granted c, ended c"; strings.Join(got, ", ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, ", "), want)
	}
}

// TestReleaseThatEtcdTellsFirst: the accounts come through pipes of their own, and
// which of them is faster does not decide how a tenure ended.
func TestReleaseThatEtcdTellsFirst(t *testing.T) {
	for name, tt := range map[string]struct {
		unlock time.Duration // when the client lets go; the end is at 20
		cause  string
		text   string
	}{
		"the client let go":          {10, history.CauseReleased, ""},
		"it let go of what was over": {30, history.CauseExpired, "with its connection"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []history.Event
			r := newRecorder(func(step []history.Event) { got = append(got, step...) }, etcd.Service().SlotOf)
			s := newState(r)
			at := func(d time.Duration) time.Duration { return time.Duration(r.began.UnixNano()) + d }
			s.take(history.Event{At: at(1), Lane: "etcd", Kind: history.KindGranted, Scope: "/lock", Tenure: "/lock/1"})
			s.take(history.Event{At: at(2), Lane: "client1", Kind: history.KindOK, Op: history.OpLock, Tenure: "/lock/1"})
			s.take(history.Event{At: at(20), Lane: "etcd", Kind: history.KindEnded, Scope: "/lock", Tenure: "/lock/1", Text: "with its connection"})
			s.take(history.Event{At: at(tt.unlock), Lane: "client1", Kind: history.KindInvoke, Op: history.OpUnlock, Tenure: "/lock/1"})
			r.flush()
			for _, e := range got {
				if e.Kind == history.KindEnded {
					if e.Cause != tt.cause || e.Text != tt.text {
						t.Errorf("it ended %s %q, want %s %q", e.Cause, e.Text, tt.cause, tt.text)
					}
					return
				}
			}
			t.Errorf("no end in %+v", got)
		})
	}
}

// accounts feeds a state with events, each a millisecond after the one before.
type accounts struct {
	*state
	n int
}

func newAccounts() *accounts {
	r := newRecorder(nil, etcd.Service().SlotOf)
	r.begin(history.Run{})
	return &accounts{state: newState(r)}
}

func (a *accounts) tell(events ...history.Event) {
	for _, e := range events {
		a.n++
		e.At = time.Duration(a.recorder.began.Add(time.Duration(a.n) * time.Millisecond).UnixNano())
		e.Scope = "/lock"
		a.take(e)
	}
}

// account is the history so far, in short.
func (a *accounts) account() string {
	a.recorder.flush()
	var got []string
	for _, e := range a.recorder.events()[1:] {
		got = append(got, strings.TrimSpace(strings.Join([]string{e.Client + e.Lane, string(e.Kind), e.Op, e.Tenure, e.Cause}, " ")))
	}
	return strings.Join(got, "\n")
}

func observed(kind history.Kind, tenure string) history.Event {
	e := history.Event{Lane: "etcd", Kind: kind, Tenure: tenure}
	_, revision, _ := strings.Cut(tenure, "@")
	e.Token, _ = fence.ParseToken(revision)
	return e
}

func client(name string, kind history.Kind, op, tenure string) history.Event {
	return history.Event{Lane: name, Client: name, Kind: kind, Op: op, Tenure: tenure}
}

// TestUnlockInATry: an unlock of no tenure that is a part of a trylock does not end its step.
func TestUnlockInATry(t *testing.T) {
	a := newAccounts()
	a.tells(scenario.Step{Actor: "c1", Client: "c1", Verb: scenario.TryLock})
	a.tell(client("c1", history.KindInvoke, history.OpTryLock, ""), client("c1", history.KindInvoke, history.OpUnlock, ""), client("c1", history.KindOK, history.OpUnlock, ""))
	if n := a.client("c1").replies; n != 0 {
		t.Errorf("%d replies before that to the trylock", n)
	}
	a.tell(client("c1", history.KindFail, history.OpTryLock, ""))
	a.tells(scenario.Step{Actor: "c1", Client: "c1", Verb: scenario.Unlock})
	a.tell(client("c1", history.KindInvoke, history.OpUnlock, ""), client("c1", history.KindFail, history.OpUnlock, ""))
	if n := a.client("c1").replies; n != 2 {
		t.Errorf("%d replies to a trylock and an unlock", n)
	}
}

// TestQueued: the observer does not know who stands in the queue; that it is the
// one that was just told to is known by its being the only one.
func TestQueued(t *testing.T) {
	a := newAccounts()
	a.tell(observed(history.KindGranted, "/lock/a@1"), client("c1", history.KindOK, history.OpLock, "/lock/a@1"))
	if a.waits("c2", "/lock", 1) {
		t.Error("c2 stands in the queue before it was told of")
	}
	a.client("c2").claim("/lock").queues = true
	a.tell(client("c2", history.KindInvoke, history.OpLock, ""), observed(history.KindQueued, "/lock/b@2"))
	if a.waits("c2", "/other", 1) || !a.waits("c2", "/lock", 1) || a.client("c2").claim("/lock").queued != "/lock/b@2" {
		t.Errorf("c2 waits for %q, want /lock/b@2", a.client("c2").claim("/lock").queued)
	}
	// The grant is told of before c2 tells of it.
	a.tell(observed(history.KindEnded, "/lock/a@1"), observed(history.KindGranted, "/lock/b@2"))
	if replies := a.client("c2").replies; replies != 0 {
		t.Errorf("c2 gave %d answers that were waited for, want none", replies)
	}
	a.tell(client("c2", history.KindOK, history.OpLock, "/lock/b@2"))
	const want = `c1etcd granted /lock/a@1
c1c1 ok lock /lock/a@1
c2c2 invoke lock
c2etcd queued /lock/b@2
c1etcd ended /lock/a@1 expired
c2etcd granted /lock/b@2
c2c2 ok lock /lock/b@2`
	if got := strings.ReplaceAll(a.account(), "  ", " "); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestGrantThatNobodyIsToldOf: a client that is stopped in the queue gets the lock
// and loses it again.
func TestGrantThatNobodyIsToldOf(t *testing.T) {
	a := newAccounts()
	a.tell(observed(history.KindGranted, "/lock/a@1"), client("c1", history.KindOK, history.OpLock, "/lock/a@1"))
	a.client("c2").claim("/lock").queues = true
	a.tell(client("c2", history.KindInvoke, history.OpLock, ""), observed(history.KindQueued, "/lock/b@2"))
	if !a.waits("c2", "/lock", 1) {
		t.Fatal("c2 does not wait")
	}
	a.tell(observed(history.KindEnded, "/lock/a@1"), observed(history.KindGranted, "/lock/b@2"), observed(history.KindEnded, "/lock/b@2"),
		client("c2", history.KindFail, history.OpLock, ""))
	const want = `c1etcd ended /lock/a@1 expired
c2etcd granted /lock/b@2
c2etcd ended /lock/b@2 expired
c2c2 fail lock`
	if got := strings.ReplaceAll(a.account(), "  ", " "); !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant an end of\n%s", got, want)
	}
}

// TestFirstWordOfAGrant: a client that waits out its lock-delay speaks of its grant
// long before it is told, and after the lock service gave it.
func TestFirstWordOfAGrant(t *testing.T) {
	a := newAccounts()
	first := client("c1", history.KindNote, history.OpLock, "/lock/a@1")
	a.tell(first, observed(history.KindGranted, "/lock/a@1"), client("c1", history.KindOK, history.OpLock, "/lock/a@1"))
	const want = `c1etcd granted  /lock/a@1
c1c1 note lock /lock/a@1
c1c1 ok lock /lock/a@1`
	if got := a.account(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if n := a.client("c1").stands; n != 0 {
		t.Errorf("c1 stood before a write %d times, want none", n)
	}
}

// TestHowTenuresEnd: by an unlock of the same key, of an older tenure too; by a
// revocation; or else because the lease ran out.
func TestHowTenuresEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		story []history.Event
		want  string
	}{
		"its own unlock": {[]history.Event{client("c1", history.KindInvoke, history.OpUnlock, "/lock/a@1")}, history.CauseReleased},
		"a late unlock of an older tenure of the session": {[]history.Event{
			client("c1", history.KindInvoke, history.OpUnlock, "/lock/a@0"),
		}, history.CauseReleased},
		"an unlock of before it began": {[]history.Event{
			client("c1", history.KindInvoke, history.OpUnlock, "/lock/a@1"),
			client("c1", history.KindOK, history.OpLock, "/lock/a@1"),
		}, history.CauseExpired},
		"nobody's doing": {nil, history.CauseExpired},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAccounts()
			a.tell(observed(history.KindGranted, "/lock/a@1"), client("c1", history.KindOK, history.OpLock, "/lock/a@1"))
			a.tell(tt.story...)
			a.tell(observed(history.KindEnded, "/lock/a@1"))
			if got := a.account(); !strings.HasSuffix(got, "/lock/a@1 "+tt.want) {
				t.Errorf("got\n%s\nwant an end by %s", got, tt.want)
			}
		})
	}
	taken := observed(history.KindEnded, "/lock/a@1") // by the lock service's word
	taken.Cause = history.CauseRevoked
	for want, story := range map[string][]history.Event{
		history.CauseRevoked:  {taken},
		history.CauseReleased: {client("c1", history.KindInvoke, history.OpUnlock, "/lock/a@1"), taken},
	} {
		a := newAccounts()
		a.tell(observed(history.KindGranted, "/lock/a@1"), client("c1", history.KindOK, history.OpLock, "/lock/a@1"))
		a.tell(story...)
		if got := a.account(); !strings.HasSuffix(got, want) {
			t.Errorf("got\n%s\nwant an end by %s", got, want)
		}
	}
	a := newAccounts()
	a.tell(observed(history.KindGranted, "/lock/a@1"), client("c1", history.KindOK, history.OpLock, "/lock/a@1"))
	a.owner("/lock/a@1").revoked = true
	a.tell(observed(history.KindEnded, "/lock/a@1"))
	if got := a.account(); !strings.HasSuffix(got, history.CauseRevoked) {
		t.Errorf("got\n%s\nwant an end by %s", got, history.CauseRevoked)
	}
}

// TestUnlockThatCannotArrive: of a client that is cut off, whichever account is
// the faster one.
func TestUnlockThatCannotArrive(t *testing.T) {
	unlock, ended := client("c1", history.KindInvoke, history.OpUnlock, "/lock/a@1"), observed(history.KindEnded, "/lock/a@1")
	for _, order := range [][]history.Event{{unlock, ended}, {ended, unlock}} {
		a := newAccounts()
		a.tell(observed(history.KindGranted, "/lock/a@1"), client("c1", history.KindOK, history.OpLock, "/lock/a@1"))
		a.client("c1").Cut = true
		a.n = 10 // both at one time
		a.tell(order[0])
		a.n = 10
		a.tell(order[1])
		if got := a.account(); !strings.Contains(got, "ended  /lock/a@1 "+history.CauseExpired) {
			t.Errorf("got\n%s\nwant that the lease ran out", got)
		}
	}
}

// TestStorageTellsFirst: what the storage did is of the client that asked for it,
// also where the storage's account is the faster one.
func TestStorageTellsFirst(t *testing.T) {
	a := newAccounts()
	applied := history.Event{Lane: history.LaneStorage, Kind: history.KindApplied, Op: history.OpRead, Request: "c1-1"}
	asked := client("c1", history.KindInvoke, history.OpRead, "")
	asked.Request = "c1-1"
	a.tell(applied, asked)
	if got := a.account(); !strings.HasPrefix(got, "c1storage applied") {
		t.Errorf("got\n%s\nwant it to be of c1", got)
	}
}
