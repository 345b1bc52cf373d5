package kv_test

import (
	"slices"
	"testing"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/pkg/fence"
)

// TestObserving: what would be refused is done, and told with the reason; what is admitted
// raises the mark, and nothing else does.
func TestObserving(t *testing.T) {
	var lines []kv.Line
	o := kv.Options{
		Observing: true,
		Observe:   func(l kv.Line) { lines = append(lines, l) },
		Bound:     func(fence.Claim) (fence.Token, error) { return 40, nil },
		MaxMarks:  1,
	}
	m := kv.NewMemory(o)
	for i, tt := range []struct {
		claim fence.Claim
		would string
	}{
		{fence.Claim{Scope: "/lock"}, "missing"},
		{fence.Claim{Scope: "/lock", Token: 34, Sequence: 1}, ""},
		{fence.Claim{Scope: "/lock", Token: 33}, "stale"},
		{fence.Claim{Scope: "/lock", Token: 34, Sequence: 1}, ""}, // a duplicate, done again
		{fence.Claim{Scope: "/lock"}, "missing"},
		{fence.Claim{Scope: "/lock", Token: 41}, "ahead"},
		{fence.Claim{Scope: "/lock", Token: -1}, "invalid"},
		{fence.Claim{Scope: "/other", Token: 7}, ""}, // no room for its mark
	} {
		value := string(rune('a' + i))
		if err := m.Write(t.Context(), kv.Request{Claim: tt.claim}, kv.Op{Kind: kv.OpWrite, Key: "k", Value: value}); err != nil {
			t.Errorf("%+v: %v", tt.claim, err)
		}
		if item, err := m.Read(t.Context(), kv.Request{}, "k"); item.Value != value || err != nil {
			t.Errorf("%+v: the value is %q, %v", tt.claim, item.Value, err)
		}
		lines = slices.DeleteFunc(lines, func(l kv.Line) bool { return l.Op == kv.OpRead })
		if len(lines) != i+1 {
			t.Fatalf("%+v: %d lines: %+v", tt.claim, len(lines), lines)
		}
		if l := lines[i]; string(l.Would) != tt.would || l.Refused != "" || l.Duplicate || (l.Error != "") != (tt.would != "") {
			t.Errorf("%+v: told as %+v, want that it would be refused as %q", tt.claim, l, tt.would)
		}
	}
	if mark, err := m.Mark(t.Context(), "/lock"); mark != (fence.Mark{Token: 34, Sequence: 1}) || err != nil {
		t.Errorf("the mark is %+v, %v", mark, err)
	}
}
