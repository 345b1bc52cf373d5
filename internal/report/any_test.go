package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/report/svg"
	"github.com/fencelab/fencelab/internal/report/terminal"
	"github.com/fencelab/fencelab/pkg/fence"
)

// anyString is what people put into keys and values, and worse.
var anyString = rapid.OneOf(
	rapid.SampledFrom([]string{"", " ", "key0", "from-client-1", "]]>", "<b>&amp;", "世界", "👩‍👩‍👧", "e\u0301", "\x1b[2J", "a\x00b", "\r\n", "\xff\xfe", "\ufffe", "\u202e", strings.Repeat("W", 1024), strings.Repeat("世", 300), strings.Repeat("\u0301", 5000), "</svg><script>"}),
	rapid.String(),
	rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
)

var anyLane = rapid.OneOf(rapid.SampledFrom([]string{"etcd", "storage", "gcsim", "client1", "client2", "client3", ""}), anyString)

var anyEvent = rapid.Custom(func(t *rapid.T) history.Event {
	number := rapid.SampledFrom([]fence.Token{0, 1, 5, 9, 5728934572389457234, 1<<63 - 1, -1})
	lane := anyLane.Draw(t, "lane")
	return history.Event{
		At:   time.Duration(rapid.OneOf(rapid.Int64Range(0, int64(5*time.Second)), rapid.Int64()).Draw(t, "at")),
		Lane: lane,
		Kind: history.Kind(rapid.SampledFrom([]string{"granted", "ended", "applied", "refused", "final", "invoke", "ok", "fail", "unknown",
			"lost", "pause", "resume", "kill", "restart", "network", "queued", "duplicate", "unanswered", "error", "end", "note", "run", "\x00?"}).Draw(t, "kind")),
		Op:       rapid.SampledFrom([]string{"lock", "trylock", "unlock", "read", "write", "delete", "change", "count", "", "<?"}).Draw(t, "op"),
		Client:   rapid.OneOf(rapid.Just(lane), anyLane).Draw(t, "client"),
		Tenure:   rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "tenure"),
		Request:  rapid.SampledFrom([]string{"", "1", "2", "3"}).Draw(t, "request"),
		Scope:    anyString.Draw(t, "scope"),
		Token:    number.Draw(t, "token"),
		Mark:     number.Draw(t, "mark"),
		Sequence: rapid.Int64Range(0, 2).Draw(t, "sequence"),
		Key:      anyString.Draw(t, "key"),
		Value:    anyString.Draw(t, "value"),
		Missing:  rapid.Bool().Draw(t, "missing"),
		Changes: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) history.Change {
			return history.Change{Key: anyString.Draw(t, "key"), Value: anyString.Draw(t, "value")}
		}), 0, 3).Draw(t, "changes"),
		Reason: rapid.OneOf(rapid.SampledFrom([]string{"stale", "missing", "invalid", "ahead", "lost", "held", ""}), anyString).Draw(t, "reason"),
		Cause:  rapid.OneOf(rapid.SampledFrom([]string{"expired", "released", "revoked", "SIGSTOP", "GC", "delay", ""}), anyString).Draw(t, "cause"),
		Took:   time.Duration(rapid.Int64().Draw(t, "took")),
		Text:   anyString.Draw(t, "text"),
	}
})

var anyDrawing = rapid.Custom(func(t *rapid.T) story.Drawing {
	run := &history.Run{
		Title: anyString.Draw(t, "title"), Variant: anyString.Draw(t, "variant"),
		Control: rapid.Bool().Draw(t, "control"), Fencing: rapid.Bool().Draw(t, "fencing"),
		About: anyString.Draw(t, "about"), Lesson: anyString.Draw(t, "lesson"), Source: anyString.Draw(t, "source"), Seed: rapid.Uint64().Draw(t, "seed"),
		Lanes: rapid.SliceOfN(anyLane, 0, 12).Draw(t, "lanes"),
	}
	o := story.Outcome{
		Name: rapid.OneOf(rapid.SampledFrom([]string{"safe", "corrupted", "blocked"}), anyString).Draw(t, "verdict"), OK: rapid.Bool().Draw(t, "ok"),
		Violations: rapid.SliceOfN(anyViolation, 0, 3).Draw(t, "violations"), Mismatches: rapid.SliceOfN(anyString, 0, 3).Draw(t, "mismatches"),
		Facts: story.Facts{Fenced: rapid.SampledFrom([]string{"", "yes", "no", "undecided"}).Draw(t, "fenced"), Reason: anyString.Draw(t, "reason")},
	}
	if rapid.IntRange(0, 3).Draw(t, "trouble") == 0 {
		o = story.Outcome{Trouble: anyString.Draw(t, "why")}
	}
	return story.Drawing{Events: append([]history.Event{{Kind: "run", Run: run}}, rapid.SliceOfN(anyEvent, 0, 40).Draw(t, "events")...), Outcome: o}
})

var anyViolation = rapid.Custom(func(t *rapid.T) history.Violation {
	return history.Violation{
		Verdict: rapid.SampledFrom([]string{history.Corrupted, history.Blocked}).Draw(t, "verdict"),
		Kind: rapid.SampledFrom([]history.ViolationKind{history.Stale, history.Unheld, history.Unguarded, history.Shared, history.Late,
			history.Lost, history.Denied, history.Torn, history.Refusal, history.NotGranted}).Draw(t, "kind"),
		Text:   anyString.Draw(t, "text"),
		Before: rapid.IntRange(-1, 50).Draw(t, "before"),
		Event:  rapid.IntRange(0, 50).Draw(t, "event"),
	}
})

func TestTerminalFits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := terminal.Options{
			Width:   rapid.IntRange(terminal.MinWidth, 140).Draw(rt, "width"),
			ASCII:   rapid.Bool().Draw(rt, "ascii"),
			Profile: rapid.SampledFrom([]colorprofile.Profile{colorprofile.NoTTY, colorprofile.TrueColor}).Draw(rt, "profile"),
		}
		out := show(t, o, anyDrawing.Draw(rt, "drawing"))
		if !utf8.ValidString(out) {
			rt.Fatalf("not UTF-8: %q", out)
		}
		for line := range strings.SplitSeq(out, "\n") {
			plain := ansi.Strip(line)
			if w := ansi.StringWidth(line); w > o.Width {
				rt.Fatalf("%d cells, want at most %d: %s", w, o.Width, plain)
			}
			for _, r := range plain {
				if unicode.IsControl(r) || o.ASCII && r > 0x7f {
					rt.Fatalf("%U in %q", r, line)
				}
			}
			if o.Profile == colorprofile.NoTTY && plain != line {
				rt.Fatalf("colours in a pipe: %q", line)
			}
		}
	})
}

func TestSVGIsWellFormed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		out := drawn(t, rapid.SliceOfN(anyDrawing, 0, 3).Draw(rt, "drawings")...)
		if !utf8.ValidString(out) {
			rt.Fatalf("not UTF-8: %q", out)
		}
		for _, r := range out {
			if unicode.IsControl(r) && r != '\n' {
				rt.Fatalf("%U in the picture", r)
			}
		}
		depth, d := 0, xml.NewDecoder(strings.NewReader(out))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				rt.Fatal(err)
			}
			switch e := token.(type) {
			case xml.StartElement:
				depth++
				if n := e.Name.Local; n == "script" || n == "b" {
					rt.Fatalf("a history brought in <%s>", n)
				}
			case xml.EndElement:
				depth--
			}
		}
		if depth != 0 {
			rt.Fatalf("%d elements are not closed", depth)
		}
	})
}

// sizes are the classes of labels whose font size is not that of text: the last
// one that a label has decides. On a phone nothing is smaller than text.
var (
	sizes = map[string]float64{"title": 17, "verdict": 15, "tiny": 10, "token": 10.5, "stopped": 10.5, "believes": 10.5, "wait": 10.5, "legend": 10.5, "mark": 10.5}
	phone = map[string]float64{"title": 15, "verdict": 14}
)

// label is a text of a picture.
type label struct {
	x, y        int
	class, text string
	size        float64
}

func labelsOf(s svg.Scene) (list []label) {
	of := sizes
	if s.Phone {
		of = phone
	}
	for _, p := range s.Panels {
		for _, l := range p.Labels {
			text := ""
			for _, w := range l.Words {
				text += w.Text
			}
			size := 12.0
			for class := range strings.FieldsSeq(l.Class) {
				if own, is := of[class]; is {
					size = own
				}
			}
			list = append(list, label{l.X, l.Y, l.Class, text, size})
		}
	}
	return list
}

// extent is the most room that a label can take up.
func extent(l label) (x1, y1, x2, y2 int) {
	const widest = 0.62 // of a cell of a monospaced font, in font sizes
	w := int(float64(ansi.StringWidth(l.text))*l.size*widest) + 1
	x1 = l.x
	classes := strings.Fields(l.class)
	switch {
	case slices.Contains(classes, "begins"):
	case classes[0] == "time", classes[0] == "wait", slices.Contains(classes, "before"):
		x1 -= w
	case slices.Contains([]string{"head", "token", "warned", "harmed"}, classes[0]):
		x1 -= w / 2
	}
	return x1, l.y - int(l.size*0.8), x1 + w, l.y + int(l.size*0.2)
}

func checkLabels(s svg.Scene) error {
	labels := labelsOf(s)
	for i, l := range labels {
		x1, y1, x2, y2 := extent(l)
		if x1 < 0 || y1 < 0 || x2 > s.Width || y2 > s.Height {
			return fmt.Errorf("%v leaves the picture of %d×%d: %d to %d", l, s.Width, s.Height, x1, x2)
		}
		for _, m := range labels[:i] {
			if a1, b1, a2, b2 := extent(m); x1 < a2 && a1 < x2 && y1 < b2 && b1 < y2 {
				return fmt.Errorf("%v overlaps %v", l, m)
			}
		}
	}
	return nil
}

func TestSVGTextHasRoom(t *testing.T) {
	check := func(drawings ...story.Drawing) error {
		var errs []error
		for _, l := range []svg.Layout{svg.Wide, svg.Narrow} {
			errs = append(errs, checkLabels(svg.Compose(l, drawings...)), checkLabels(svg.Inline(drawings[0], l)))
		}
		return errors.Join(errs...)
	}
	for _, name := range stories {
		if err := check(load(t, name), load(t, "fenced")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		if err := check(rapid.SliceOfN(anyDrawing, 1, 2).Draw(rt, "drawings")...); err != nil {
			rt.Fatal(err)
		}
	})
}

func TestNoRequestIsLost(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		events := rapid.SliceOfN(anyEvent, 0, 40).Draw(rt, "events")
		for i := range events {
			events[i].Request, events[i].Op, events[i].Key = fmt.Sprint(i), history.OpWrite, fmt.Sprintf("key-%d-", i)
			if i > 0 && rapid.Bool().Draw(rt, "answers") { // the event before it
				events[i].Request, events[i].Key = events[i-1].Request, events[i-1].Key
			}
		}
		rows := story.NewBuilder().Add(events, nil)
		var all strings.Builder
		for i, r := range rows {
			all.WriteString(r.Text.String())
			if i > 0 && r.At < rows[i-1].At {
				rt.Fatalf("row %d goes back in time: %v after %v", i, r.At, rows[i-1].At)
			}
		}
		for _, e := range events {
			if e.Kind == history.KindInvoke && e.Lane != "" && !strings.Contains(all.String(), e.Key) {
				rt.Fatalf("no row tells of %+v", e)
			}
		}
	})
}

func TestNoColor(t *testing.T) {
	if o := terminal.Detect(&bytes.Buffer{}, []string{"TERM=xterm-256color"}); o.Profile != colorprofile.NoTTY || o.Width != 0 {
		t.Errorf("a buffer is no terminal: %+v", o)
	}
	colours := regexp.MustCompile(`\x1b\[[0-9;]*[349][0-7]`)
	for no, want := range map[string]bool{"": true, "1": false, "yes": false} {
		o := terminal.Detect(&bytes.Buffer{}, []string{"TERM=xterm-256color", "CLICOLOR_FORCE=1", "NO_COLOR=" + no})
		if got := colours.MatchString(show(t, o, load(t, "fenced"))); got != want {
			t.Errorf("NO_COLOR=%q: colours %v, want %v", no, got, want)
		}
	}
}

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestWriteErrors(t *testing.T) {
	d := load(t, "fenced")
	term := terminal.New(closed{}, terminal.Options{})
	if err := term.Add(d.Events, nil); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Add: %v", err)
	}
	if err := term.End(d); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("End: %v", err)
	}
	if err := svg.Write(closed{}, svg.Wide, d); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("SVG: %v", err)
	}
}
