package svg

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/pkg/fence"
)

func TestShorten(t *testing.T) {
	for name, want := range map[string]short{
		"what differs at the beginning": {"8580379839434417924": "8580…", "5027602683392610563": "5027…"},
		"what differs at the end":       {"7587895739187361803": "…1803", "7587895739187361805": "…1805"},
		"what differs in the middle":    {"7587895739187361803": "…9187…", "7587895734187361803": "…4187…"},
		"what differs at both ends":     {"7587895739187361803": "7587895739187361803", "8587895739187361803": "8587895739187361803", "8587895739187361804": "8587895739187361804"},
		"of another length":             {"987654321987654321": "9876…", "1276385671994654467": "12763…"},
		"of another length, alike":      {"758789573918736180": "7587…", "7587895739187361803": "75878…"},
		"one alone":                     {"9223372036854775807": "9223…"},
		"none":                          nil,
	} {
		long := slices.Sorted(maps.Keys(want))
		if diff := cmp.Diff(want, shorten(long)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// TestShortNumbersKeepTheirOrder: of two numbers the higher one is still the one
// that looks higher: it has more digits, or as many and they are higher.
func TestShortNumbersKeepTheirOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		high := rapid.Int64Range(1e12, 9e12).Draw(rt, "what they have in common")
		numbers := rapid.SliceOfNDistinct(rapid.OneOf(
			rapid.Int64Range(1e12, 1<<63-1),
			rapid.Custom(func(t *rapid.T) int64 { return high*1e6 + rapid.Int64Range(0, 1e6-1).Draw(t, "low") }),
		), 2, 6, rapid.ID).Draw(rt, "numbers")
		slices.Sort(numbers)
		var long []string
		for _, n := range numbers {
			long = append(long, strconv.FormatInt(n, 10))
		}
		s := shorten(long)
		for i := range long[1:] {
			a, b := digits.FindString(s[long[i]]), digits.FindString(s[long[i+1]])
			if len(a) > len(b) || len(a) == len(b) && a >= b {
				rt.Fatalf("%s is written %s, and %s is written %s", long[i], s[long[i]], long[i+1], s[long[i+1]])
			}
		}
	})
}

// TestNumbersAreShortEverywhere: one way for all runs of a picture, in all that it
// says; and what is no token is left alone. Only the run that has long numbers
// explains them.
func TestNumbersAreShortEverywhere(t *testing.T) {
	const high, low, value = 8580379839434417924, 8580379839434117925, "8580379839434417926"
	run := func(token fence.Token) story.Drawing {
		e := history.Event{
			Lane: history.LaneStorage, Kind: history.KindApplied, Op: history.OpWrite, Client: "c1", Scope: "/l",
			Key: "k", Value: value, Token: token, Mark: token,
		}
		why := fmt.Sprintf("c1's write with token %d", token)
		return story.Drawing{
			Events: []history.Event{{Kind: history.KindRun, Run: &history.Run{Fencing: true, Lanes: []string{"c1", history.LaneStorage}}}, e},
			Outcome: story.Outcome{
				Name: history.Corrupted, Mismatches: []string{why},
				Violations: []history.Violation{{Verdict: history.Corrupted, Kind: history.Late, Text: why, Before: -1, Event: 1}},
			},
		}
	}
	var out strings.Builder
	if err := Write(&out, Wide, run(high), run(low), run(4)); err != nil {
		t.Fatal(err)
	}
	got := out.String()
	for _, want := range []string{"token …4179…", "token …1179…", ">…4179…<", "with token …4179…"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if !strings.Contains(got, value) {
		t.Error("a value is cut")
	}
	if n := strings.Count(got, strconv.Itoa(high)); n != 0 {
		t.Errorf("a token is written out %d times, want none", n)
	}
	if n := strings.Count(got, strconv.Itoa(low)); n != 2 {
		t.Errorf("the lowest token is written out %d times, want once in each of two notes", n)
	}
}
