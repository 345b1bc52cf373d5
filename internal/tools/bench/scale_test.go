package main

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/tools/need"
	"github.com/fencelab/fencelab/pkg/fence"
)

// TestScale: each store and each lock has its row, with all figures; one whose server is missing
// is named.
func TestScale(t *testing.T) {
	need.Night(t, "to fill all stores")
	b := startBench(t)
	measure(t, b, scaled)
	text := b.report.markdown()
	figure := `-?[\d,.]+`
	wants := map[string]string{"storages, 4 of them": `\n\| 4 \| ` + figure + ` \| \*\*`}
	for _, k := range keepers() {
		third := figure
		if k.slow {
			third = ""
		}
		for _, of := range k.of {
			wants[k.name+", "+of] = `\n\| ` + regexp.QuoteMeta(k.name) + ` \| ` + of + ` \| ` + figure + ` \| ` + figure + ` \| ` + third + ` \| ` + figure + ` \+ ` + figure + ` × length \| ` + figure + ` \|`
		}
	}
	for _, l := range sized() {
		wants[l.name] = `\n\| ` + l.name + ` \| ` + l.of + ` \| ` + figure + ` \| ` + figure + ` \|`
		wants[l.name+", renewals"] = `\n\| ` + l.name + `( \| ` + figure + `){3} \|`
	}
	for name, want := range wants {
		if !regexp.MustCompile(want).MatchString(text) && !strings.Contains(text, "Not measured is "+strings.TrimSuffix(name, ", renewals")+": ") {
			t.Errorf("the report has no row of %s", name)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// TestMarkSizes: what needs no server is measured by every run of the tests, and a mark takes more
// of a file than its scope and its token, and less than a page.
func TestMarkSizes(t *testing.T) {
	for _, k := range keepers()[:4] {
		b := startBench(t)
		table := b.report.table("", "")
		if err := fail.Caught(func() { b.markSize(table, k, []int{50, 500, 5000}) }); err != nil {
			t.Fatalf("%s: %v", k.name, err)
		}
		of, size := table.rows[0][1], table.rows[0][3] // of 500 marks
		got, err := strconv.ParseFloat(size, 64)
		if of == "file" && (err != nil || got < shortScope+8 || got > 4096) {
			t.Errorf("%s: %s, %v", k.name, size, err)
		}
	}
}

// TestVerify: marks that the library does not read, or reads without reason, are noticed.
func TestVerify(t *testing.T) {
	scope := func(i int) string { return ordered(i, shortScope) }
	for name, c := range map[string]struct {
		filled int
		as     fence.Token
		ok     bool
	}{
		"as they are": {100, markToken, true},
		"too few":     {99, markToken, false},
		"too many":    {101, markToken, false},
		"lower ones":  {100, markToken - 1, false},
	} {
		h := hoard{mark: func(s string) (fence.Mark, error) {
			if s < scope(c.filled) {
				return fence.Mark{Token: c.as}, nil
			}
			return fence.Mark{}, nil
		}}
		if err := fail.Caught(func() { h.verify(scope, 100) }); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	broken := errors.New("it cannot be read")
	h := hoard{mark: func(string) (fence.Mark, error) { return fence.Mark{}, broken }}
	if err := fail.Caught(func() { h.verify(scope, 1) }); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}
