package strictyaml

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// nests are ways to put values into one another: what one begins and ends with, and what is
// innermost.
var nests = map[string]struct{ begin, within, end string }{
	"lists in brackets":    {"[", "a", "]"},
	"mappings in braces":   {"{a: ", "b", "}"},
	"brackets over lines":  {"[\n ", "a", "\n ]"},
	"lists in one line":    {"- ", "a", ""},
	"lists and brackets":   {"- [", "a", "]"},
	"mappings in brackets": {"[a: ", "b", "]"},
	"keys":                 {"? ", "a", ""},
	"keys in braces":       {"{? ", "a", "}"},
	"with names":           {"&a [", "a", "]"},
	"with tags":            {"!!seq [", "a", "]"},
}

func TestDeep(t *testing.T) {
	for name, n := range nests {
		text := strings.Repeat(n.begin, 2000) + n.within + strings.Repeat(n.end, 2000)
		for _, text := range []string{text, "a: " + text, strings.Repeat(n.begin, 2000)} {
			_, err := open.Parse(text)
			if err == nil {
				t.Errorf("%s: %.20q… is taken", name, text)
			}
		}
	}
	for name, lines := range map[string]func(i int) string{
		"mappings": func(i int) string { return strings.Repeat(" ", i) + "a:\n" },
		"lists":    func(i int) string { return strings.Repeat(" ", i) + "-\n" },
		"both":     func(i int) string { return strings.Repeat("  ", i) + "- a:\n" },
		"lists of the same column": func(i int) string {
			return strings.Repeat(" ", i) + "a:\n" + strings.Repeat(" ", i) + "- b: c\n"
		},
	} {
		var text strings.Builder
		for i := range 200 {
			text.WriteString(lines(i))
		}
		if _, err := open.Parse(text.String()); err == nil {
			t.Errorf("%s are taken, 200 deep", name)
		}
	}
}

// TestTheBound: as deep as the bound is taken, one deeper is refused, by its place.
func TestTheBound(t *testing.T) {
	for _, form := range []struct{ begin, end string }{{"[", "]"}, {"- ", ""}} {
		for deep := range Deepest + 2 {
			_, err := open.Parse(strings.Repeat(form.begin, deep) + "a" + strings.Repeat(form.end, deep) + "\n")
			switch {
			case deep <= Deepest && err != nil:
				t.Errorf("%q, %d deep: %v", form.begin, deep, err)
			case deep > Deepest && (err == nil || err.(*Error).Text != "lists and mappings are more than 32 deep here: 32 is the bound"):
				t.Errorf("%q, %d deep: got %v", form.begin, deep, err)
			case deep > Deepest && (err.(*Error).Line != 1 || err.(*Error).Column < Deepest || err.(*Error).Column > 2*Deepest+3):
				t.Errorf("%q, %d deep: the place is %+v", form.begin, deep, err)
			}
		}
	}
	_, err := open.Parse("a:\n" + strings.Repeat("- ", 20) + strings.Repeat("[", 12) + strings.Repeat("]", 12) + "\n")
	if want := (Error{2, 52, errTooDeep.Error()}); err == nil || *err.(*Error) != want {
		t.Errorf("lists in one line and in brackets: got %+v, want %+v", err, want)
	}
}

// TestDeepComesFirst: a file with too many brackets, which are one another's, is too deep.
func TestDeepComesFirst(t *testing.T) {
	for _, begin := range []string{"[", "{a: ", "- "} {
		for _, bytes := range []int{2000, 32 << 10, 65400} {
			_, err := open.Parse("a: b\nc:\n " + strings.Repeat(begin, bytes/len(begin)))
			if err == nil || err.Error() != errTooDeep.Error() {
				t.Errorf("%d bytes of %q: got %v", bytes, begin, err)
			}
		}
	}
}

// TestOnlyNestingCounts: brackets and dashes in texts and comments are not deep.
func TestOnlyNestingCounts(t *testing.T) {
	many := strings.Repeat("[{- ? : ,", 6000)
	for _, text := range []string{
		"# " + many + "\na: b # " + many + "\n",
		"a: '" + many + "'\n",
		"a: \"" + many + "\"\n",
		"a:\n  - 'it''s " + many + "'\n  - \"\\\"" + many[:9000] + "\"\n",
		"a: '\n  " + strings.ReplaceAll(many, "? ", "?\n  ") + "'\n",
		"a: |\n  " + strings.ReplaceAll(many, "? ", "?\n  ") + "\nb: c\n",
		"a: >-\n  " + many + "\nb: c\n",
		"- a: |2\n    " + many + "\n  b: c\n",
		"a: it's " + strings.ReplaceAll(strings.ReplaceAll(many, ": ", ":"), "{", "") + "\n",
		"[a: b, 'c " + many + "' , # " + many[:9000] + "\n d]\n",
		strings.Repeat("- {a: b, c: [d, e]}\n", 3000),
		strings.Repeat(" ", 200) + "a: b\n",
		"a: b\n" + strings.Repeat("# c\n\n", 10000) + "d: e\n",
		"a:\n" + strings.Repeat("- b: |\n   "+strings.Repeat("[", 400)+"\n\n  c: d\n", 100),
	} {
		if _, err := open.Parse(text); err != nil {
			t.Errorf("%.30q…: %+v", text, err)
		}
	}
}

// allocated is how much memory a function takes, in bytes.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestMemory: no file of 64 KiB takes more than 64 MiB, whatever its bytes.
func TestMemory(t *testing.T) {
	const size = 64 << 10
	var keys strings.Builder
	for i := 0; keys.Len() < size-8; i++ {
		fmt.Fprintf(&keys, "%x:\n", i)
	}
	texts := []string{keys.String()}
	for _, unit := range []string{
		"[", "{", "[[", "- ", "-\n", "? ", "a,", ":,", ",:", "[],", "{},", "a: ", "a:,", "[:]", "a: b, ", "- a\n", "a\n", "a #\n", "#\n", "\n",
		"- []\n", "- [a,b,c]\n", "- {a: b}\n", "'a' ", "\"\",", "'',", "&a ", "*a,", "!a ", "!!str ", "|\n", "---\n", "%A\n", "\t", "'", "\"", "\\", "é", "\x00", "\xff",
		"a: '[',[,:,", "|,:,",
	} {
		for _, begin := range []string{"", "[", "a 'b\n["} {
			texts = append(texts, begin+strings.Repeat(unit, (size-len(begin))/len(unit)))
		}
	}
	for _, text := range texts {
		if took := allocated(func() { _, _ = open.Parse(text) }); took > 64<<20 {
			t.Errorf("%.20q… takes %d MiB", text, took>>20)
		}
	}
}

// nested is a text of lists that are this deep, with as many lists and as many bytes
// whatever the depth.
func nested(deep int) string {
	unit := "- " + strings.Repeat("[", deep) + strings.Repeat("[aaaaa], ", Deepest-1-deep) + "a" + strings.Repeat("]", deep)
	unit += strings.Repeat(" ", 300-len(unit)) + "\n"
	return strings.Repeat(unit, 32<<10/len(unit))
}

// TestDepthCostsNothing: a byte takes as much memory at every depth.
func TestDepthCostsNothing(t *testing.T) {
	took := func(deep int) uint64 {
		text := nested(deep)
		return allocated(func() {
			if _, err := open.Parse(text); err != nil {
				t.Fatal(err)
			}
		})
	}
	shallow := took(1)
	for deep := 2; deep < Deepest; deep++ {
		if deeper := took(deep); deeper > shallow*5/4 {
			t.Errorf("lists that are %d deep take %d bytes, and lists that are not take %d", deep, deeper, shallow)
		}
	}
}

// BenchmarkDeep shows what a byte costs at each depth.
func BenchmarkDeep(b *testing.B) {
	for _, deep := range []int{1, 2, 4, 8, 16, Deepest - 1} {
		text := nested(deep)
		b.Run(fmt.Sprint(deep), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := open.Parse(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
