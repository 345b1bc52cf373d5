package story

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// Word is a piece of text that is kept on one line where it fits at all.
type Word struct {
	Text string
	Tone Tone // Bold: a token, a mark, a refusal: what the eye must find
}

// Text is what a row says. It is printable: valid UTF-8 without control or invisible characters.
type Text []Word

// String returns the text on one line, without emphasis.
func (t Text) String() string {
	words := make([]string, len(t))
	for i, w := range t {
		words[i] = w.Text
	}
	return strings.Join(words, " ")
}

// Tie is a space at which no line breaks. It never comes from a history: Clean escapes it there.
const Tie = "\u00a0"

// Say builds the words of a sentence.
func Say(format string, args ...any) Text { return words(Plain, format, args...) }

// Strong builds words that stand out.
func Strong(format string, args ...any) Text { return words(Bold, format, args...) }

// Solid builds one word, which may have spaces in it.
func Solid(s string) Text { return Text{{Text: s}} }

var duration = regexp.MustCompile(`(\d) (m?s)\b`)

func words(tone Tone, format string, args ...any) (t Text) {
	s := duration.ReplaceAllString(fmt.Sprintf(format, args...), "$1"+Tie+"$2")
	for w := range strings.SplitSeq(s, " ") {
		if w != "" {
			t = append(t, Word{strings.ReplaceAll(w, Tie, " "), tone})
		}
	}
	return t
}

// Wrap breaks t into lines of at most width cells; only a word that is longer than a line is cut.
func (t Text) Wrap(width int) []Text {
	var lines []Text
	var line Text
	used := 0
	for _, w := range t {
		if len(line) > 0 && used+1+Cells(w.Text) > width {
			lines, line, used = append(lines, line), nil, 0
		}
		for Cells(w.Text) > width {
			head := Prefix(w.Text, width)
			if head == "" {
				break
			}
			lines = append(lines, Text{{head, w.Tone}})
			w.Text = w.Text[len(head):]
		}
		if len(line) > 0 {
			used++
		}
		used += Cells(w.Text)
		line = append(line, w)
	}
	return append(lines, line)
}

// Mapped returns t with f applied to each word.
func (t Text) Mapped(f func(string) string) Text {
	out := make(Text, len(t))
	for i, w := range t {
		w.Text = f(w.Text)
		out[i] = w
	}
	return out
}

// Cells is the width of s in a terminal.
func Cells(s string) int { return ansi.StringWidth(s) }

// Prefix returns as much of s as fits into width cells.
func Prefix(s string, width int) string {
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

// pair writes key=value; quotes show where an empty value or spaces begin and end.
func pair(key, value string) string {
	if value == "" || strings.Contains(value, " ") {
		value = `"` + value + `"`
	}
	return key + "=" + value
}

// Took writes a duration as people say it, in at most nine cells.
func Took(d time.Duration) string {
	s := d.Seconds()
	switch {
	case d < 0:
		return "0" + Tie + "s"
	case d < time.Millisecond:
		return fmt.Sprintf("%d"+Tie+"µs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%d"+Tie+"ms", d.Milliseconds())
	case s < 10:
		return fmt.Sprintf("%.2f"+Tie+"s", s)
	case s < 100:
		return fmt.Sprintf("%.1f"+Tie+"s", s)
	case s < 100_000:
		return fmt.Sprintf("%.0f"+Tie+"s", s)
	}
	return fmt.Sprintf("%.1e"+Tie+"s", s)
}

// Clock writes a time since the start in at most seven cells.
func Clock(d time.Duration) string {
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
