package agent_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/clients/clientcmd/clienttest"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/pkg/fence"
)

func TestAgentShowsTheLease(t *testing.T) {
	w, a := startAlone(t, "--token", "lease")
	a.say(t, "lock")
	a.want(t, history.Event{Kind: "invoke", Op: "lock", Scope: "/lock"})
	note := a.wantNote(t, "lease ")
	grant := a.next(t)
	lease := clienttest.LeaseOf(t, grant.Tenure)
	if want := fence.Token(lease); grant.Kind != "ok" || grant.Token != want || note.Token != want || note.Tenure != grant.Tenure {
		t.Errorf("token %d, want the lease's ID, %d; the note is %+v", grant.Token, want, note)
	}
	marked, _, _ := strings.Cut(strings.TrimPrefix(note.Text, "its lease is "), ",")
	if member, rest, _ := strings.Cut(marked, "-"); len(member) != 4 || member+rest != fmt.Sprintf("%016x", int64(lease)) {
		t.Errorf("the note says %q, want %016x with the member marked", note.Text, int64(lease))
	}
	a.wantKind(t, "write key0=x", "ok")
	wantMark(t, w, "/lock", grant.Token)
}

// TestAgentShowsTheHeader: the revision of the answer that grants the lock is
// above the create revision of one who has been waiting by then, and fences it
// out.
func TestAgentShowsTheHeader(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	other := w.Take(t, "/lock")
	a, b := startAgent(t, w, "--token", "header"), startAgent(t, w)
	a.say(t, "lock")
	a.want(t, history.Event{Kind: "invoke", Op: "lock", Scope: "/lock"})
	w.Queue(t, "/lock", 2)
	b.say(t, "lock")
	b.want(t, history.Event{Kind: "invoke", Op: "lock", Scope: "/lock"})
	w.Queue(t, "/lock", 3)
	if err := other.Unlock(clienttest.Within(t)); err != nil {
		t.Fatal(err)
	}
	first := a.next(t)
	a.wantKind(t, "write key0=a", "ok")
	a.wantKind(t, "unlock", "ok")
	second := b.next(t)
	if first.Kind != "ok" || second.Kind != "ok" || first.Token <= second.Token {
		t.Errorf("grants %+v, then %+v; want that the header of the first is above the revision of the second", first, second)
	}
	if e := b.wantKind(t, "write key0=b", "fail"); e.Reason != "stale" || e.Mark != first.Token {
		t.Errorf("the rightful holder: %+v", e)
	}
}

func TestAgentShowsTheHighest(t *testing.T) {
	w, a := startAlone(t, "--token", "max")
	ask := history.Event{Op: "write", Scope: "/lock", Token: math.MaxInt64, Key: "key0", Value: "x", Request: "client1-1"}
	a.expect(t, "write key0=x", ask, with(ask, func(e *history.Event) { e.Kind = "ok" }))
	if grant := a.take(t, "lock"); grant.Token != math.MaxInt64 {
		t.Errorf("token %v", grant.Token)
	}
	wantMark(t, w, "/lock", math.MaxInt64)
}

func TestAgentScopesByKey(t *testing.T) {
	w, a := startAlone(t, "--scope", "key")
	grant := a.take(t, "lock")
	if e := a.wantKind(t, "write a=1", "ok"); e.Scope != "a" {
		t.Errorf("the write's scope is %q", e.Scope)
	}
	if e := a.wantKind(t, "change b=2 c=3", "ok"); e.Scope != "b" {
		t.Errorf("the change's scope is %q, want its first key's", e.Scope)
	}
	wantMark(t, w, "a", grant.Token)
	wantMark(t, w, "b", grant.Token)
	wantMark(t, w, "c", 0)
	wantMark(t, w, "/lock", 0)
	if e := a.wantKind(t, "unlock", "ok"); e.Scope != "/lock" {
		t.Errorf("the unlock's scope is %q", e.Scope)
	}
}

func TestAgentReadsPlain(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	for reads, mark := range map[string]bool{"plain": false, "fenced": true} {
		a := startAgent(t, w, "--reads", reads, "--lock", "/"+reads)
		grant := a.wantKind(t, "lock", "ok")
		want := fence.Token(0)
		if mark {
			want = grant.Token
		}
		if e := a.wantKind(t, "read key0", "ok"); e.Token != want || e.Tenure != grant.Tenure {
			t.Errorf("%s: %+v, want token %v", reads, e, want)
		}
		wantMark(t, w, "/"+reads, want)
	}
}

func TestAgentNumbersItsWrites(t *testing.T) {
	w, a := startAlone(t, "--numbered")
	for range 2 {
		a.take(t, "lock")
		for i, line := range []string{"write a=1", "delete a", "change a=1 b=2"} {
			if e := a.wantKind(t, line, "ok"); e.Sequence != int64(i+1) {
				t.Errorf("%s: sequence number %d, want %d", line, e.Sequence, i+1)
			}
		}
		if e := a.wantKind(t, "read a", "ok"); e.Sequence != 0 {
			t.Errorf("a read has sequence number %d", e.Sequence)
		}
		m, err := w.KV.Mark(t.Context(), "/lock")
		if err != nil || m.Sequence != 3 {
			t.Errorf("the mark is %+v, %v, want sequence number 3", m, err)
		}
		a.wantKind(t, "unlock", "ok")
	}
}

func TestAgentWaitsOutItsDelay(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	const delay = 300 * time.Millisecond
	a := startAgent(t, w, "--delay", delay.String())
	a.say(t, "lock")
	began := time.Now()
	a.want(t, history.Event{Kind: "invoke", Op: "lock", Scope: "/lock"})
	note := a.wantNote(t, "waits for 0.3 s before it goes on")
	e := a.next(t)
	if e.Kind != "ok" || e.Tenure != note.Tenure || note.Took != delay || time.Since(began) < delay {
		t.Errorf("after %v: %+v, then %+v", time.Since(began), note, e)
	}
	b := startAgent(t, w, "--delay", "60m", "--lock", "/other")
	b.say(t, "lock")
	b.next(t)
	b.wantNote(t, "waits for 3600 s")
	b.cancel()
	b.until(t, "ok", "unlock")
	b.wantEnd(t)
	w.WantFree(t, "/other")
}
