package report

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/fencelab/fencelab/internal/history"
)

// How much of a string of a history goes into a row, in cells of a terminal.
const (
	maxName  = 32
	maxValue = 40
	maxText  = 400
)

// Word is a piece of text that is kept on one line where it fits at all.
type Word struct {
	Text   string
	Strong bool // a token, a mark, a refusal: what the eye must find
	Tone   Tone
}

// Text is what a row says. It is printable: valid UTF-8 without control or
// invisible characters.
type Text []Word

// String returns the text on one line, without emphasis.
func (t Text) String() string {
	words := make([]string, len(t))
	for i, w := range t {
		words[i] = w.Text
	}
	return strings.Join(words, " ")
}

// tie is a space at which no line breaks. It never comes from a history: clean
// escapes it there.
const tie = "\u00a0"

// say builds the words of a sentence.
func say(format string, args ...any) Text {
	return words(false, fmt.Sprintf(format, args...))
}

// strong builds words that stand out.
func strong(format string, args ...any) Text {
	return words(true, fmt.Sprintf(format, args...))
}

// solid builds one word, which may have spaces in it.
func solid(s string) Text { return Text{{Text: s}} }

// duration finds how a number stands before its unit.
var duration = regexp.MustCompile(`(\d) (m?s)\b`)

func words(emphasis bool, s string) (t Text) {
	for w := range strings.SplitSeq(duration.ReplaceAllString(s, "$1"+tie+"$2"), " ") {
		if w != "" {
			t = append(t, Word{Text: strings.ReplaceAll(w, tie, " "), Strong: emphasis})
		}
	}
	return t
}

// wrap breaks t into lines of at most width cells; only a word that is longer
// than a line is cut.
func (t Text) wrap(width int) []Text {
	var lines []Text
	var line Text
	used := 0
	for _, w := range t {
		if len(line) > 0 && used+1+cells(w.Text) > width {
			lines, line, used = append(lines, line), nil, 0
		}
		for cells(w.Text) > width {
			head := prefix(w.Text, width)
			if head == "" {
				break
			}
			lines = append(lines, Text{{head, w.Strong, w.Tone}})
			w.Text = w.Text[len(head):]
		}
		if len(line) > 0 {
			used++
		}
		used += cells(w.Text)
		line = append(line, w)
	}
	return append(lines, line)
}

// mapped returns t with f applied to each word.
func (t Text) mapped(f func(string) string) Text {
	out := make(Text, len(t))
	for i, w := range t {
		w.Text = f(w.Text)
		out[i] = w
	}
	return out
}

// cells is the width of s in a terminal.
func cells(s string) int { return ansi.StringWidth(s) }

// prefix returns as much of s as fits into width cells.
func prefix(s string, width int) string {
	end, used := 0, 0
	for end < len(s) {
		cluster, w := ansi.FirstGraphemeCluster(s[end:], ansi.GraphemeWidth)
		if cluster == "" || used+w > width {
			break
		}
		used += w
		end += len(cluster)
	}
	return s[:end]
}

// shorten cuts s to width cells and shows that it did.
func shorten(s string, width int) string {
	if cells(s) <= width {
		return s
	}
	return prefix(s, width-1) + "…"
}

// clean makes s printable, so that no value can move the cursor, reorder a line
// or break the XML; escapes show what was there. Cutting comes first: a value
// may be a megabyte, or thousands of marks that take up no cell.
func clean(s string, width int) string {
	var b strings.Builder
	bytes := 8 * width
	for i := 0; i < len(s) && i < bytes; {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
		i += n
	}
	if len(s) > bytes {
		return prefix(b.String(), width-1) + "…"
	}
	return shorten(b.String(), width)
}

// prose is clean for text that was written for people, where a line break is a
// space.
func prose(s string) string {
	return clean(strings.Join(strings.Fields(s), " "), maxText)
}

// tied is prose in which no line breaks within an amount.
func tied(s string) string { return amounts.ReplaceAllString(prose(s), "$1$3"+tie+"$2$4") }

// amounts are numbers with their units, and tokens with their numbers.
var amounts = regexp.MustCompile(`\b(\d+) (s|ms)\b|\b(token|mark) (\d+)\b`)

// cleanEvent makes the strings of an event printable, once for all pictures.
func cleanEvent(e history.Event) history.Event {
	for _, s := range []*string{&e.Lane, &e.Client, &e.Scope, &e.Key, &e.Reason, &e.Cause, &e.Op} {
		*s = clean(*s, maxName)
	}
	e.Value = clean(e.Value, maxValue)
	e.Changes = slices.Clone(e.Changes)
	for i, c := range e.Changes {
		e.Changes[i] = history.Change{Key: clean(c.Key, maxName), Value: clean(c.Value, maxValue)}
	}
	e.Text = tied(e.Text)
	return e
}

// cleanRun makes the strings of a run that are drawn printable.
func cleanRun(r *history.Run) history.Run {
	if r == nil {
		return history.Run{}
	}
	run := *r
	run.Title, run.Variant, run.About = prose(run.Title), clean(run.Variant, maxName), prose(run.About)
	run.Lanes = nil
	for _, l := range r.Lanes {
		run.Lanes = append(run.Lanes, clean(l, maxName))
	}
	return run
}

// cleanOutcome makes the strings of an outcome printable.
func cleanOutcome(o Outcome) Outcome {
	o.Name, o.Trouble, o.Facts.Reason = clean(o.Name, maxName), tied(o.Trouble), tied(o.Facts.Reason)
	o.Violations, o.Mismatches = slices.Clone(o.Violations), slices.Clone(o.Mismatches)
	for i := range o.Violations {
		o.Violations[i].Text = tied(o.Violations[i].Text)
	}
	for i := range o.Mismatches {
		o.Mismatches[i] = tied(o.Mismatches[i])
	}
	return o
}

// pair writes key=value; quotes show where an empty value or spaces begin and end.
func pair(key, value string) string {
	if value == "" || strings.Contains(value, " ") {
		value = `"` + value + `"`
	}
	return key + "=" + value
}

// took writes a duration as people say it, in at most nine cells.
func took(d time.Duration) string {
	s := d.Seconds()
	switch {
	case d < 0:
		return "0" + tie + "s"
	case d < time.Millisecond:
		return fmt.Sprintf("%d"+tie+"µs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%d"+tie+"ms", d.Milliseconds())
	case s < 10:
		return fmt.Sprintf("%.2f"+tie+"s", s)
	case s < 100:
		return fmt.Sprintf("%.1f"+tie+"s", s)
	case s < 100_000:
		return fmt.Sprintf("%.0f"+tie+"s", s)
	}
	return fmt.Sprintf("%.1e"+tie+"s", s)
}

// clock writes a time since the start in at most seven cells.
func clock(d time.Duration) string {
	s := d.Seconds()
	switch {
	case s < 999.9995: // more would be rounded up to eight cells
		return fmt.Sprintf("%.3f", s)
	case s < 99_999.95:
		return fmt.Sprintf("%.1f", s)
	case s < 1_000_000:
		return fmt.Sprintf("%.0f", s)
	}
	return fmt.Sprintf("%.1e", s)
}
