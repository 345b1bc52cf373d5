package story

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
)

// a and b are ordinary rows, P, S, H and B are not; the number is how many are folded.
func TestFolder(t *testing.T) {
	kinds := map[rune]Row{'a': {Class: ClassAdmit}, 'b': {Class: ClassRelease}, 'P': {Class: ClassPause}, 'S': {Class: ClassAdmit, Leg: Sent}, 'H': {Class: ClassHarm}, 'B': {Class: ClassBlock}}
	for in, want := range map[string]string{
		"aaaaaaa":                       "aaaaaaa",
		"aaaaaaabbbbbb":                 "aaaa5bbbb",
		"aaaaaabbbaaaaaa":               "aaaa7aaaa",
		"aaaaaabbbbbbbbP":               "aaaa9bP",
		"aaaaaabbbbP":                   "aaaa5bP",
		"aaaaaaaaaaaPbbaaaabbS":         "aaaa6aPb6bS",
		"aaaaaaaaaaHaaaaaBaaaaaa":       "aaaa5aHa3aBaaaaaa",
		"aaaaaaPaaaaaaaaaaaaaaaabbbbbb": "aaaaaaPa17bbbb",
	} {
		var rows []Row
		for _, kind := range in {
			rows = append(rows, kinds[kind])
		}
		f := NewFolder(true)
		var got string
		for _, r := range append(f.Add(rows), f.End()...) {
			var n int
			if r.Class == ClassFold {
				fmt.Sscanf(r.Text.String(), "… %d", &n)
				got += fmt.Sprint(n)
			}
			for kind, k := range kinds {
				if r.Class == k.Class && r.Leg == k.Leg {
					got += string(kind)
				}
			}
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func TestFolded(t *testing.T) {
	for want, rows := range map[string][]Row{
		"… 1 ordinary steps in 0 µs":                                  {{Class: ClassReply}},
		"… 2 ordinary steps in 5 ms: a tenure, token 7":               {{Class: ClassGrant, Event: history.Event{Token: 7}}, {At: 5 * ms, Class: ClassRelease}},
		"… 2 ordinary steps in 0 µs: 2 tenures, tokens 7 to 9":        {{Class: ClassGrant, Event: history.Event{Token: 7}}, {Class: ClassGrant, Event: history.Event{Token: 9}}},
		"… 2 ordinary steps in 0 µs: 2 tenures, no tokens":            {{Class: ClassGrant}, {Class: ClassGrant}},
		"… 2 ordinary steps in 0 µs: a tenure, token 7, all admitted": {{Class: ClassGrant, Event: history.Event{Token: 7}}, {Class: ClassAdmit}},
		"… 1 ordinary steps in 0 µs, all admitted":                    {{Class: ClassAdmit}},
	} {
		if got := NewFolder(true).folded(rows).Text.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := NewFolder(false).folded([]Row{{Class: ClassAdmit}}).Text.String(); !strings.HasSuffix(got, "all applied") {
		t.Errorf("without fencing: got %q", got)
	}
}
