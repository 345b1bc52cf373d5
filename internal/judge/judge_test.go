package judge_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge"
	"github.com/fencelab/fencelab/pkg/fence"
)

// tale is a hand-written history of what clients did, one after the other, a line
// each:
//
//	c1 5 write k=v ok        with token 5 (0: none; 5.2: and sequence number 2)
//	c1 5s read k ok v        by a shared claim
//	c1 5 change k=v,m=w ok
//	c1 5 delete k ok
//	c1 5 read k ok v         what it finds; nothing: no value
//	c1 5 write k=v stale 9   refused, by the mark 9; also missing, invalid, ahead
//	c1 5 write k=v unheard 9 refused by the mark 9, and the client says ok
//	c1 5 write k=v unknown   the client does not know what became of it
//	c1 5 write k=v silent    nor did it come to say so
//	c1 5.1 write k=v duplicate
//	c1 5 write k=v nowhere   it did not get to the storage, and knows
//	final k v 5              and who wrote it
func tale(t *testing.T, text string) []history.Event {
	t.Helper()
	events := []history.Event{{Lane: history.LaneLab, Kind: history.KindRun, Run: &history.Run{Expect: history.Expect{Verdict: history.Safe}}}}
	for n, line := range strings.Split(strings.TrimSpace(text), "\n") {
		word := append(strings.Fields(line), "", "", "")
		if word[0] == "final" {
			e := history.Event{Lane: history.LaneStorage, Kind: history.KindFinal, Key: word[1], Value: word[2], Missing: word[2] == ""}
			if word[3] != "" {
				e.Token = fence.Token(number(t, word[3]))
			}
			events = append(events, e)
			continue
		}
		ask := history.Event{Lane: word[0], Client: word[0], Kind: history.KindInvoke, Op: word[2], Scope: "/lock", Request: fmt.Sprint(word[0], "-", n)}
		token, sequence, _ := strings.Cut(word[1], ".")
		token, shared := strings.CutSuffix(token, "s")
		if shared {
			ask.Mode = fence.Shared
		}
		ask.Token = fence.Token(number(t, token))
		if sequence != "" {
			ask.Sequence = number(t, sequence)
		}
		if ask.Op == history.OpChange {
			for _, pair := range strings.Split(word[3], ",") {
				key, value, _ := strings.Cut(pair, "=")
				ask.Changes = append(ask.Changes, history.Change{Key: key, Value: value})
			}
		} else {
			ask.Key, ask.Value, _ = strings.Cut(word[3], "=")
		}
		events = append(events, ask)
		events = append(events, answers(t, ask, word[4], word[5])...)
	}
	for i := range events {
		events[i].At = time.Duration(i) * time.Millisecond
	}
	return events
}

func number(t *testing.T, word string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// answers are the storage's word on a request and the client's.
func answers(t *testing.T, ask history.Event, what, value string) []history.Event {
	there, told := ask, ask
	there.Lane, there.Client, there.Kind, there.Changes = history.LaneStorage, "", history.KindApplied, nil
	told.Kind = history.KindOK
	switch what {
	case "ok":
		if ask.Op == history.OpRead {
			told.Value, told.Missing = value, value == ""
		}
	case "unknown", "nowhere":
		told.Kind = map[string]history.Kind{"unknown": history.KindUnknown, "nowhere": history.KindFail}[what]
		return []history.Event{told}
	case "duplicate":
		return []history.Event{told}
	case "silent":
		return nil
	case "unheard":
		there.Kind, there.Reason, there.Mark = history.KindRefused, "stale", fence.Token(number(t, value))
	default:
		there.Kind, told.Kind = history.KindRefused, history.KindFail
		there.Reason, told.Reason = what, what
		if value != "" {
			there.Mark = fence.Token(number(t, value))
			told.Mark = there.Mark
		}
	}
	return []history.Event{there, told}
}

// judged is the judgement on a history that is not complete enough for Judge: these
// have no account of the lock service.
func judged(events []history.Event) judge.Judgement { return judge.Within(events, 5*time.Second) }

// TestCannotBeJudged: what could not be seen is not judged.
func TestCannotBeJudged(t *testing.T) {
	events := tale(t, "c1 5 write k=1 ok\nfinal k 1")
	events[0].Run.Unlocked = true
	if _, err := judge.Judge(events); err != nil {
		t.Fatal(err)
	}
	events[1].Tenure = "/lock/1@5"
	_, err := judge.Judge(events)
	invalid := new(history.InvalidError)
	if !errors.As(err, &invalid) || len(invalid.Problems) != 1 || invalid.Problems[0].Line != 2 {
		t.Errorf("%v, want that line 2 names a tenure of which the lock service does not tell", err)
	}
}

func TestOpinion(t *testing.T) {
	for _, tt := range []struct {
		name, tale, want string
		operations       int
	}{
		{"nothing", `final k`, judge.Yes, 1},
		{"a stale write is refused", `
			c1 5 write k=1 ok
			c2 9 read k ok 1
			c1 5 write k=2 stale 9
			c2 9 write k=3 ok
			final k 3`, judge.Yes, 5},
		{"readers refuse each other nothing", `
			c1 5 write k=1 ok
			c3 9s read k ok 1
			c2 8s read k ok 1
			c1 8 write k=2 stale 9
			final k 1`, judge.Yes, 5},
		{"a reader is refused, because another one came after it", `
			c3 9s read k ok
			c2 8s read k stale 9
			final k`, judge.No, 3},
		{"a writer is not refused, though a reader came after it", `
			c3 9s read k ok
			c1 8 write k=2 ok
			final k 2`, judge.No, 3},
		{"who wrote what is there at the end", `
			c1 5 write k=1 ok
			c2 9 write m=1 ok
			final k 1 5
			final m 1 9`, judge.Yes, 4},
		{"somebody else wrote it", `
			c1 5 write k=1 ok
			c2 9 read k ok 1
			final k 1 9`, judge.No, 3},
		{"a stale write is refused, and its client takes that for an ok", `
			c1 5 write k=1 ok
			c2 9 write k=2 ok
			c1 5 write k=3 unheard 9
			final k 2`, judge.Yes, 4},
		{"and what it wrote is there", `
			c1 5 write k=1 ok
			c2 9 write k=2 ok
			c1 5 write k=3 unheard 9
			final k 3`, judge.No, 4},
		{"a stale write is done", `
			c1 5 write k=1 ok
			c2 9 write k=2 ok
			c1 5 write k=3 ok
			final k 3`, judge.No, 4},
		{"a stale write is done between a read and a write", `
			c2 9 read k ok
			c1 5 write k=1 ok
			c2 9 write k=2 ok`, judge.No, 3},
		{"and the read showed no token", `
			c2 0 read k ok
			c1 5 write k=1 ok
			c2 9 write k=2 ok`, judge.Yes, 3},
		{"a newer token is refused", `
			c1 5 write k=1 ok
			c2 9 write k=2 stale 5`, judge.No, 2},
		{"a delete drops the mark", `
			c2 9 delete k ok
			c1 5 write k=1 ok`, judge.No, 2},
		{"a change of several keys", `
			c1 5 change k=1,m=2 ok
			c2 9 read m ok 2
			c1 5 change k=3,m=4 stale 9
			final k 1
			final m 2`, judge.Yes, 5},
		{"half a change", `
			c1 5 change k=1,m=2 unknown
			c2 9 read m ok 2
			c2 9 read k ok`, judge.No, 3},
		{"an unknown write that came", `
			c1 5 write k=1 unknown
			final k 1`, judge.Yes, 2},
		{"an unknown write that did not", `
			c1 5 write k=1 silent
			final k`, judge.Yes, 2},
		{"an unknown write that came too late", `
			c1 5 write k=1 unknown
			c2 9 write k=2 ok
			c2 9 read k ok 1`, judge.No, 3},
		{"a write that did not get there", `
			c1 5 write k=1 nowhere
			final k`, judge.Yes, 1},
		{"and that did all the same", `
			c1 5 write k=1 nowhere
			final k 1`, judge.No, 1},
		{"a token is missing", `
			c1 0 write k=1 missing
			c1 5 write k=2 ok
			final k 2`, judge.Yes, 3},
		{"a token is missing, and that did not matter", `
			c1 0 write k=1 ok`, judge.No, 1},
		{"a token is ahead", `
			c1 9223372036854775807 write k=1 ahead
			c2 5 write k=2 ok
			final k 2`, judge.Yes, 3},
		{"a huge token locks out all others, by the rule", `
			c1 9223372036854775807 write k=1 ok
			c2 5 write k=2 stale 9223372036854775807
			final k 1`, judge.Yes, 3},
		{"a retry is dropped", `
			c1 5.1 write k=1 ok
			c1 5.1 write k=1 duplicate
			c1 5.2 write k=2 ok
			c1 5.1 write k=1 stale 5
			final k 2`, judge.Yes, 5},
		{"a retry is done again", `
			c1 5.1 write k=1 ok
			c1 5.1 write k=1 ok`, judge.No, 2},
		{"it was acknowledged, and the storage says nothing", `
			c1 5 write k=1 duplicate
			final k 1`, judge.Yes, 2},
		{"a write is dropped that is none", `
			c1 5.1 write k=1 ok
			c1 5.2 write k=2 duplicate`, judge.No, 2},
		{"a value is lost", `
			c1 5 write k=1 ok
			final k`, judge.No, 2},
		{"a value from nowhere", `final k 1`, judge.No, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := judged(tale(t, tt.tale)).Storage
			if want := (judge.Opinion{Fenced: tt.want, Operations: tt.operations}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// TestUnderWayTogether: what is under way at a time may be done in any order.
func TestUnderWayTogether(t *testing.T) {
	events := tale(t, `
		c1 5 write k=1 ok
		c2 9 write k=2 ok
		final k 2`)
	// c2 asks first and is told last.
	late := []history.Event{events[0], events[4], events[1], events[2], events[3], events[5], events[6], events[7]}
	at := func() {
		for i := range late {
			late[i].At = time.Duration(i)
		}
	}
	at()
	if got := judged(late).Storage.Fenced; got != judge.Yes {
		t.Errorf("%s, want yes", got)
	}
	for i := range late {
		late[i].At = 0 // the clock does not tell, or steps back: the order counts
	}
	late[4].At = -1
	if got := judged(late).Storage.Fenced; got != judge.Yes {
		t.Errorf("%s, want yes", got)
	}
	late = []history.Event{events[0], events[4], events[5], events[6], events[1], events[2], events[3], events[7]}
	at()
	if got := judged(late).Storage.Fenced; got != judge.No {
		t.Errorf("%s, want no", got)
	}
}

// TestAnswerBeforeQuestion: as a client's clock that steps back has it.
func TestAnswerBeforeQuestion(t *testing.T) {
	events := tale(t, `
		c1 5 write k=1 ok
		final k 1`)
	events[1], events[3] = events[3], events[1]
	if got := judged(events).Storage.Fenced; got != judge.Yes {
		t.Errorf("%s, want yes", got)
	}
	events[4].Value = "2"
	if got := judged(events).Storage.Fenced; got != judge.No {
		t.Errorf("%s, want no: nobody wrote what is there at the end", got)
	}
}

// TestNoOperations: what asks nothing of the storage.
func TestNoOperations(t *testing.T) {
	events := append(tale(t, "final k"),
		history.Event{Lane: "c1", Kind: history.KindInvoke, Op: history.OpLock, Request: "c1-1"},
		history.Event{Lane: "c1", Kind: history.KindOK, Op: history.OpLock},
		history.Event{Lane: "c1", Kind: history.KindInvoke, Op: history.OpWrite, Key: "k", Token: 5}, // it only looked
		history.Event{Lane: "c1", Kind: history.KindInvoke, Op: history.OpChange, Request: "c1-2", Token: 5},
	)
	if got := judged(events).Storage; got.Operations != 1 {
		t.Errorf("%+v, want one operation, at the end", got)
	}
}

func TestScopes(t *testing.T) {
	const text = `
		c2 9 write k=2 ok
		c1 5 write m=1 ok
		c3 0 read k ok 2
		final k 2
		final m 1`
	events := tale(t, text)
	for i, e := range events {
		if e.Token != 0 {
			events[i].Scope = e.Key
		}
	}
	if got := judged(events).Storage; got.Fenced != judge.Yes {
		t.Errorf("a scope for each key: %+v, want yes", got)
	}
	if got := judged(tale(t, text)).Storage; got.Fenced != judge.No {
		t.Errorf("one scope: %+v, want no", got)
	}
	events = tale(t, "c1 5 write k=1 ok\nc2 9 write k=2 ok")
	events[4].Scope, events[5].Scope, events[6].Scope = "/other", "/other", "/other"
	want := judge.Opinion{Fenced: judge.Undecided, Operations: 2, Reason: `k was used under two scopes, "/lock" and "/other", and a fenced store is judged scope by scope`}
	if got := judged(events).Storage; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if err := judge.Visualize(&bytes.Buffer{}, events); err == nil || !strings.Contains(err.Error(), want.Reason) {
		t.Errorf("%v, want an error that says %q", err, want.Reason)
	}
}

// TestDataInTheService: where the lock service is the storage, too, its account says nothing of tokens.
func TestDataInTheService(t *testing.T) {
	events := tale(t, "c1 5 write k=1 ok\nfinal k 1")
	events[0].Run.Service, events[0].Run.InService = "postgres", true
	got := judged(events).Storage
	if want := "the data lies in postgres, whose account has no tokens"; got.Fenced != judge.Undecided || got.Reason != want {
		t.Errorf("%+v, want it undecided: %s", got, want)
	}
}

// TestClaimOfArrival: what counts is the claim that the storage saw.
func TestClaimOfArrival(t *testing.T) {
	events := tale(t, `
		c2 9 read k ok
		c1 5 write k=1 ok`)
	events[2].Token = 0 // the client names its tenure's token, and did not show it
	if got := judged(events).Storage.Fenced; got != judge.Yes {
		t.Errorf("%s, want yes: the read showed no token", got)
	}
}

func TestExpectation(t *testing.T) {
	fenced, unfenced := "c1 5 write k=1 ok", "c1 0 write k=1 ok"
	const twoScopes = "c1 5 write k=1 ok\nc2 9 write k=2 ok"
	for _, tt := range []struct {
		tale   string
		expect bool
		want   []string
	}{
		{fenced, true, nil},
		{unfenced, false, nil},
		{unfenced, true, []string{"by porcupine the storage broke the rule of a fence, expected that it keeps it"}},
		{fenced, false, []string{"by porcupine the storage kept the rule of a fence, expected that it breaks it"}},
		{twoScopes, true, []string{`porcupine could not judge whether the storage kept the rule of a fence (k was used under two scopes, "/lock" and "/other", and a fenced store is judged scope by scope), expected that it keeps it`}},
	} {
		events := tale(t, tt.tale)
		events[0].Run.Expect = history.Expect{Verdict: judged(events).Name, Fenced: &tt.expect}
		if tt.tale == twoScopes {
			events[5].Scope = "/other"
		}
		if j := judged(events); !slices.Equal(j.Mismatches, tt.want) || j.OK() != (tt.want == nil) {
			t.Errorf("%s: mismatches %q, want %q", tt.tale, j.Mismatches, tt.want)
		}
	}
}

func TestJSON(t *testing.T) {
	got, err := json.Marshal(judged(tale(t, "c1 5 write k=1 ok\nfinal k 1")))
	want := `{"verdict":"safe","stale":0,"refused":0,"ordered":true,"exclusive":true,"final":{"k":"1"},"storage":{"fenced":"yes","operations":2}}`
	if err != nil || string(got) != want {
		t.Errorf("%v %s, want %s", err, got, want)
	}
}

// TestGolden: histories that are drawn elsewhere.
func TestGolden(t *testing.T) {
	for name, want := range map[string]string{
		"fenced": judge.Yes, "unfenced": judge.No, "eight": judge.Yes, "gc": judge.Yes, "killed": judge.Yes, "unicode": judge.Yes, "read": judge.Yes,
	} {
		f, err := os.Open(filepath.Join("../report/testdata", name+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		events, err := history.Read(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		if got := judged(events).Storage; got.Fenced != want {
			t.Errorf("%s: %+v, want %s", name, got, want)
		}
	}
}
