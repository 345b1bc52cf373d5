package history_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencelab/fencelab/internal/history"
)

func TestWriteAndRead(t *testing.T) {
	stale, refused, yes, no := 1, 0, true, false
	events := []history.Event{
		{Lane: history.LaneLab, Kind: history.KindRun, Run: &history.Run{
			Scenario: "01-gc-pause", Title: "<a> title", Variant: "fenced", Fencing: true, Lanes: []string{"etcd", "client1"},
			About: "it asks again", Lesson: "A lock\nexpires.", Source: "https://example.org/?a=1&b=2", Control: true,
			Together: [][]string{{"a", "b"}, {"c"}}, Seed: 1<<64 - 1,
			Expect: history.Expect{Verdict: history.Safe, Stale: &stale, Refused: &refused, Ordered: &yes, Fenced: &no, Final: map[string]string{"k": "v"}},
		}},
		{At: 1500 * time.Millisecond, Lane: "etcd", Kind: history.KindGranted, Client: "client1", Tenure: "/lock/1", Scope: "/lock", Token: 1<<53 + 1},
		{At: 2, Lane: "storage", Kind: history.KindRefused, Op: history.OpWrite, Request: "client1-1", Index: 3, Key: "k", Value: "\x01\n", Reason: "stale", Mark: 1<<63 - 1},
		{At: -3, Lane: "etcd", Kind: history.KindQueued, Client: "client2", Tenure: "/lock/2@7", Token: 7, Scope: "/lock"},
		{At: 3, Lane: "client1", Kind: history.KindNetwork, Cause: history.CauseDelay, Text: "what it sends waits"},
		{At: 4, Lane: "storage", Kind: history.KindRestart},
		{At: 5, Lane: "client1", Kind: history.KindInvoke, Op: history.OpChange, Request: "client1-2", Sequence: 1<<63 - 1, Changes: []history.Change{{Key: "a", Value: "<1> =\u2028"}, {Key: "b"}}},
	}
	var b bytes.Buffer
	if err := history.Write(&b, events); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\n"); n != len(events) {
		t.Errorf("%d lines for %d events", n, len(events))
	}
	got, err := history.Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(events, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadSaysWhatIsWrong(t *testing.T) {
	const run = `{"at":0,"lane":"gcsim","kind":"run","run":{}}` + "\n"
	for in, want := range map[string]string{
		"":                   "line 1 is no event: want a JSON object",
		"not JSON":           "line 1 is no event",
		run + `{"at":"now"}`: "line 2 is no event",
		run + "\n":           "line 2 is no event",
		run + run:            "line 2 is no event: another run begins here",
		run + "null\n":       "line 2 is no event: want a JSON object",
		run + `{"at":1,"lane":"storage","kind":"aplied","key":"k"}`:           `line 2 is no event: its kind is "aplied", which is unknown`,
		run + `{"at":1,"kind":"applied","key":"k"}`:                           "line 2 is no event: it names no lane",
		run + `{"at":1,"lane":"etcd","kind":"granted"}`:                       `line 2 is no event: its kind is "granted", and it names no tenure`,
		run + `{"at":1,"lane":"storage","kind":"applied","key":"` + "\xff\"}": "line 2 is no event: it is not UTF-8",
		`{"at":0,"kind":"granted"}`:                                           `line 1 is no event: want an event of kind "run"`,
		`{"at":0,"kind":"run"}`:                                               `line 1 is no event: want an event of kind "run"`,
	} {
		if _, err := history.Read(strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", in, err, want)
		}
	}
}

func TestSortIsStable(t *testing.T) {
	events := []history.Event{{At: 3, Key: "a"}, {At: 1, Key: "b"}, {At: 3, Key: "c"}, {At: 1, Key: "d"}}
	history.Sort(events)
	var got string
	for _, e := range events {
		got += e.Key
	}
	if got != "bdac" {
		t.Errorf("got %s, want bdac", got)
	}
}
