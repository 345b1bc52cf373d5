package story

import (
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/pkg/fence"
)

func TestFate(t *testing.T) {
	does := func(kind history.Kind, op, client, key string, token fence.Token) history.Event {
		return history.Event{Lane: history.LaneStorage, Kind: kind, Op: op, Client: client, Key: key, Token: token, Reason: "stale"}
	}
	const applied, refused, write = history.KindApplied, history.KindRefused, history.OpWrite
	later := does(applied, write, "c2", "a", 9)
	stale := []history.Violation{{Verdict: history.Corrupted, Kind: history.Stale, Before: 0, Event: 1}}
	of := func(kind history.ViolationKind, before int) []history.Violation {
		return []history.Violation{{Verdict: history.Corrupted, Kind: kind, Before: before, Event: 1}}
	}
	for name, test := range map[string]struct {
		events     []history.Event
		violations []history.Violation
		want       string
	}{
		"written over":                {[]history.Event{later, does(applied, write, "c1", "a", 5)}, stale, "c2's write is lost"},
		"deleted":                     {[]history.Event{later, does(applied, history.OpDelete, "c1", "a", 5)}, stale, "c2's write is lost"},
		"a delete is written over":    {[]history.Event{does(applied, history.OpDelete, "c2", "a", 9), does(applied, write, "c1", "a", 5)}, stale, "c2's delete is lost"},
		"another key":                 {[]history.Event{later, does(applied, write, "c1", "b", 5)}, stale, ""},
		"a stale read":                {[]history.Event{later, does(applied, history.OpRead, "c1", "a", 5)}, stale, ""},
		"after a read":                {[]history.Event{does(applied, history.OpRead, "c2", "a", 9), does(applied, write, "c1", "a", 5)}, stale, "c2's read is out of date"},
		"after a read of another key": {[]history.Event{does(applied, history.OpRead, "c2", "b", 9), does(applied, write, "c1", "a", 5)}, stale, ""},
		"gone at the end":             {[]history.Event{later, {Lane: history.LaneStorage, Kind: history.KindFinal, Key: "a"}}, of(history.Lost, 0), "c2's write is lost"},
		"nobody wrote it":             {[]history.Event{later, {Lane: history.LaneStorage, Kind: history.KindFinal, Key: "a"}}, of(history.Lost, -1), ""},
		"refused":                     {[]history.Event{later, does(refused, write, "c1", "a", 5)}, nil, "c2's write is safe"},
		"the last one is safe":        {[]history.Event{does(applied, write, "c0", "a", 3), later, does(refused, write, "c1", "a", 5)}, nil, "c2's write is safe"},
		"refused on another key":      {[]history.Event{later, does(refused, write, "c1", "b", 5)}, nil, ""},
		"a refused read":              {[]history.Event{later, does(refused, history.OpRead, "c1", "a", 5)}, nil, ""},
		"refused for other reasons":   {[]history.Event{later, {Lane: history.LaneStorage, Kind: refused, Op: write, Client: "c1", Key: "a", Token: 5, Reason: "ahead"}}, nil, ""},
		"its own older one":           {[]history.Event{later, does(refused, write, "c2", "a", 9)}, nil, ""},
		"refused, but harm was done":  {[]history.Event{later, does(refused, write, "c1", "a", 5)}, of(history.Torn, -1), ""},
		"nothing happened":            {nil, nil, ""},
	} {
		b := NewBuilder()
		b.Add(test.events, nil)
		if got := b.Fate(Outcome{Violations: test.violations}).String(); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
