// Package terminal draws the rows of a run as lines of text, also while the run
// goes on.
package terminal

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/term"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/report/story"
)

// Options says what a terminal can show.
type Options struct {
	Width   int                  // columns; 0: 80; fewer than MinWidth are taken as MinWidth
	Profile colorprofile.Profile // the zero value is plain text
	ASCII   bool                 // no byte above 0x7f
}

// Widths of a terminal.
const (
	MinWidth     = 40
	defaultWidth = 80
)

// Detect finds out what w can show: nothing but plain text unless it is a
// terminal. It honours CLICOLOR, CLICOLOR_FORCE and, before them, NO_COLOR.
func Detect(w io.Writer, environ []string) Options {
	o := Options{Width: defaultWidth, Profile: colorprofile.Detect(w, environ)}
	// colorprofile takes NO_COLOR for a boolean; by no-color.org any value counts.
	noColor := func(v string) bool { return strings.HasPrefix(v, "NO_COLOR=") && v != "NO_COLOR=" }
	if slices.ContainsFunc(environ, noColor) {
		o.Profile = min(o.Profile, colorprofile.ASCII)
	}
	if f, ok := w.(term.File); ok && term.IsTerminal(f.Fd()) {
		if width, _, err := term.GetSize(f.Fd()); err == nil && width > 0 {
			o.Width = width
		}
	}
	return o
}

// Timeline draws a run line by line while it goes on. Each method returns the
// error of writing, and after one draws nothing more.
type Timeline struct {
	out     io.Writer
	options Options
	glyphs  glyphs
	builder *story.Builder
	grid    grid
	above   story.Row     // the last row; before it, one that has the lanes
	keys    story.Keys    // what was drawn so far
	counts  int           // how many counts go on
	folder  *story.Folder // while they do
	err     error
}

// New returns a Timeline that writes to w.
func New(w io.Writer, o Options) *Timeline {
	if o.Width == 0 {
		o.Width = defaultWidth
	}
	o.Width = max(o.Width, MinWidth)
	t := &Timeline{out: &colorprofile.Writer{Forward: w, Profile: o.Profile}, options: o, glyphs: unicodeGlyphs, builder: story.NewBuilder(), keys: story.Keys{}}
	if o.ASCII {
		t.glyphs = asciiGlyphs
	}
	return t
}

// Add draws the rows that the next events bring, as Builder.Add makes them. The
// first event says what is run.
func (t *Timeline) Add(events []history.Event, violations []history.Violation) error {
	var out strings.Builder
	if len(events) > 0 && events[0].Kind == history.KindRun {
		t.builder.Add(events[:1], nil)
		events = events[1:]
		t.begin(&out)
	}
	out.WriteString(t.rows(t.fold(t.builder.Add(events, violations))))
	return t.write(out.String())
}

// begin prints what is run, how to read the picture, and the lanes' names.
func (t *Timeline) begin(out *strings.Builder) {
	name, about := story.Variant(t.builder.Run())
	t.paragraph(out, "", story.Strong("%s", t.builder.Run().Title), story.Bold)
	t.paragraph(out, "", append(story.Strong("%s:", name), story.Say("%s", about)...), story.Bold)
	out.WriteByte('\n')
	t.legend(out, firstKeys)
	out.WriteByte('\n')
	t.relane(out, t.builder.Lanes())
}

// firstKeys are those that a legend has before anything is drawn.
var firstKeys = []story.Key{story.KeyHold, story.KeyPause, story.KeyMessage, story.KeyRefused, story.KeyOver}

func (t *Timeline) legend(out *strings.Builder, list []story.Key) {
	var entries story.Text
	for _, k := range list {
		entries = append(entries, story.Solid(t.glyphs.sample(k)+" "+string(k)+" ")...)
	}
	for _, l := range entries.Wrap(t.options.Width - 1) {
		out.WriteString(paint(dim, strings.TrimRight(l.String(), " ")) + "\n")
	}
}

// fold returns the rows that can be drawn now. While clients count, ordinary rows
// are held back and told as one.
func (t *Timeline) fold(rows []story.Row) (out []story.Row) {
	for _, r := range rows {
		counts := r.Event.Op == history.OpCount
		if counts && r.Event.Kind == history.KindInvoke {
			if t.counts++; t.folder == nil {
				t.folder = story.NewFolder(t.builder.Run().Fencing)
			}
		}
		if t.folder == nil {
			out = append(out, r)
			continue
		}
		out = append(out, t.folder.Add([]story.Row{r})...)
		if counts && slices.Contains([]history.Kind{history.KindOK, history.KindFail, history.KindUnknown}, r.Event.Kind) {
			t.counts--
		}
		if t.counts == 0 {
			out = append(out, t.unfold()...)
		}
	}
	return out
}

// unfold ends the folding, if there is any.
func (t *Timeline) unfold() (rows []story.Row) {
	if t.folder != nil {
		rows, t.folder = t.folder.End(), nil
	}
	return rows
}

// End draws what is held back and prints the verdict, or why there is none.
func (t *Timeline) End(o story.Outcome) error {
	o = o.Clean()
	var out strings.Builder
	out.WriteString(t.rows(t.unfold()))
	out.WriteByte('\n')
	if others := t.keys.Shown(firstKeys...); len(others) > 0 {
		t.legend(&out, others)
		out.WriteByte('\n')
	}
	t.paragraph(&out, "", append(story.Say("verdict:"), o.Headline(o.Name, t.builder.Run().Control)...), story.Plain)
	for _, text := range o.Findings() {
		t.paragraph(&out, "  ", text, story.Bad)
	}
	return t.write(out.String())
}

func (t *Timeline) rows(rows []story.Row) string {
	var out strings.Builder
	for _, r := range rows {
		if len(r.Lanes) != len(t.above.Lanes) {
			t.relane(&out, r.Lanes)
		}
		if story.Waits(t.above, r) {
			l := t.grid.bars(t.glyphs.signs[story.KeyWait], t.above.Lanes)
			out.WriteString(l.String() + paint(dim, render(story.Say("%s", story.Took(r.Start()-t.above.At)).Mapped(t.printable), story.Plain)) + "\n")
		}
		t.keys.Add(t.above, r)
		t.row(&out, r)
		t.above = r
	}
	return out.String()
}

// relane places the lanes anew and writes their names.
func (t *Timeline) relane(out *strings.Builder, lanes []story.Lane) {
	t.above.Lanes = lanes
	t.grid = newGrid(t.options.Width, len(lanes), t.glyphs)
	for _, l := range t.grid.headings(lanes, t.printable) {
		out.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
	if hidden := len(lanes) - t.grid.lanes; hidden > 0 {
		t.paragraph(out, "", story.Say("(no room to draw %d more lanes)", hidden), story.Plain)
	}
}

// row draws one step: its line, and the lanes on while its text needs more.
func (t *Timeline) row(out *strings.Builder, r story.Row) {
	text := r.Text.Mapped(t.printable).Wrap(t.grid.width - t.grid.text())
	for i, words := range text {
		l := t.grid.step(r)
		if i > 0 {
			l = t.grid.bars("", r.Lanes)
		}
		rest := render(words, r.Class.Tone)
		if r.Class == story.ClassNote {
			rest = paint(dim, words.String())
		}
		out.WriteString(strings.TrimRight(l.String()+rest, " ") + "\n")
	}
}

func (t *Timeline) paragraph(out *strings.Builder, indent string, text story.Text, with story.Tone) {
	for i, words := range text.Mapped(t.printable).Wrap(t.options.Width - len(indent) - 2) {
		hang := ""
		if i > 0 && indent != "" {
			hang = "  "
		}
		out.WriteString(indent + hang + render(words, with) + "\n")
	}
}

// render writes words, the bold ones in a tone.
func render(words story.Text, with story.Tone) string {
	parts := make([]string, len(words))
	for i, w := range words {
		if w.Tone == story.Bold {
			w.Tone = with
		}
		parts[i] = paint(w.Tone, w.Text)
	}
	return strings.Join(parts, " ")
}

// printable writes s with what the terminal has.
func (t *Timeline) printable(s string) string {
	if !t.options.ASCII {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r == '…':
			b.WriteString(t.glyphs.dots)
		case r == 'µ':
			b.WriteByte('u')
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return b.String()
}

func (t *Timeline) write(s string) error {
	if t.err == nil && s != "" {
		if _, err := io.WriteString(t.out, s); err != nil {
			t.err = fmt.Errorf("report: %w", err)
		}
	}
	return t.err
}
