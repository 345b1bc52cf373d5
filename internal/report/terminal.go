package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/term"

	"github.com/fencelab/fencelab/internal/history"
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

// Terminal draws a run line by line while it goes on. Each method returns the
// error of writing, and after one draws nothing more.
type Terminal struct {
	out     io.Writer
	options Options
	builder Builder
	grid    grid
	lanes   []Lane  // after the last row
	above   Row     // the last row
	keys    keys    // what was drawn so far
	counts  int     // how many counts go on
	folder  *folder // while they do
	err     error
}

// NewTerminal returns a Terminal that writes to w.
func NewTerminal(w io.Writer, o Options) *Terminal {
	if o.Width == 0 {
		o.Width = defaultWidth
	}
	o.Width = max(o.Width, MinWidth)
	return &Terminal{out: &colorprofile.Writer{Forward: w, Profile: o.Profile}, options: o, keys: keys{}}
}

// Add draws the rows that the next events bring, as Builder.Add makes them. The
// first event says what is run.
func (t *Terminal) Add(events []history.Event, violations []history.Violation) error {
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
func (t *Terminal) begin(out *strings.Builder) {
	name, about := variant(t.builder.Run())
	t.paragraph(out, "", strong("%s", t.builder.Run().Title), strongInk)
	t.paragraph(out, "", append(strong("%s:", name), say("%s", about)...), strongInk)
	out.WriteByte('\n')
	t.legend(out, firstKeys)
	out.WriteByte('\n')
	t.relane(out, t.builder.Lanes())
}

// firstKeys are those that a legend has before anything is drawn.
var firstKeys = []key{keyHold, keyPause, keyMessage, keyRefused, keyOver}

func (t *Terminal) legend(out *strings.Builder, list []key) {
	var entries Text
	for _, k := range list {
		entries = append(entries, solid(t.glyphs().sample(k)+" "+string(k)+" ")...)
	}
	for _, l := range entries.wrap(t.options.Width - 1) {
		out.WriteString(dimInk.on(strings.TrimRight(l.String(), " ")) + "\n")
	}
}

// fold returns the rows that can be drawn now. While clients count, ordinary rows
// are held back and told as one.
func (t *Terminal) fold(rows []Row) (out []Row) {
	for _, r := range rows {
		counts := r.Event.Op == history.OpCount
		if counts && r.Event.Kind == history.KindInvoke {
			if t.counts++; t.folder == nil {
				t.folder = newFolder(t.builder.Run().Fencing)
			}
		}
		if t.folder == nil {
			out = append(out, r)
			continue
		}
		out = append(out, t.folder.add([]Row{r})...)
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
func (t *Terminal) unfold() []Row {
	if t.folder == nil {
		return nil
	}
	rows := t.folder.end()
	t.folder = nil
	return rows
}

// End draws what is held back and prints the verdict, or why there is none.
func (t *Terminal) End(o Outcome) error {
	o = cleanOutcome(o)
	var out strings.Builder
	out.WriteString(t.rows(t.unfold()))
	out.WriteByte('\n')
	if others := t.keys.but(firstKeys...); len(others) > 0 {
		t.legend(&out, others)
		out.WriteByte('\n')
	}
	t.paragraph(&out, "", append(say("verdict:"), headline(t.builder.Run(), o, o.Name)...), plainInk)
	for _, text := range findings(o) {
		t.paragraph(&out, "  ", text, badInk)
	}
	return t.write(out.String())
}

func (t *Terminal) rows(rows []Row) string {
	var out strings.Builder
	for _, r := range rows {
		if len(r.Lanes) != len(t.lanes) {
			t.relane(&out, r.Lanes)
		}
		if waits(t.above, r) {
			l := t.grid.bars(t.glyphs().wait, t.lanes)
			out.WriteString(l.String() + dimInk.on(render(say("%s", took(r.from()-t.above.At)).mapped(t.printable), plainInk)) + "\n")
		}
		t.keys.see(t.above, r)
		t.row(&out, r)
		t.lanes, t.above = r.Lanes, r
	}
	return out.String()
}

// relane places the lanes anew and writes their names.
func (t *Terminal) relane(out *strings.Builder, lanes []Lane) {
	t.lanes = lanes
	t.grid = newGrid(t.options.Width, len(lanes), t.glyphs())
	for _, l := range t.grid.headings(lanes, t.printable) {
		out.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
	if hidden := len(lanes) - t.grid.lanes; hidden > 0 {
		t.paragraph(out, "", say("(no room to draw %d more lanes)", hidden), plainInk)
	}
}

// row draws one step: its line, and the lanes on while its text needs more.
func (t *Terminal) row(out *strings.Builder, r Row) {
	text := r.Text.mapped(t.printable).wrap(t.grid.width - t.grid.text())
	for i, words := range text {
		l := t.grid.step(r)
		if i > 0 {
			l = t.grid.bars("", r.Lanes)
		}
		rest := render(words, r.Class.ink())
		if r.Class == ClassNote {
			rest = dimInk.on(words.String())
		}
		out.WriteString(strings.TrimRight(l.String()+rest, " ") + "\n")
	}
}

func (t *Terminal) paragraph(out *strings.Builder, indent string, text Text, with ink) {
	for i, words := range text.mapped(t.printable).wrap(t.options.Width - len(indent) - 2) {
		hang := ""
		if i > 0 && indent != "" {
			hang = "  "
		}
		out.WriteString(indent + hang + render(words, with) + "\n")
	}
}

func render(words Text, with ink) string {
	parts := make([]string, len(words))
	for i, w := range words {
		parts[i] = w.Text
		if w.Strong {
			parts[i] = w.Tone.ink(with).on(w.Text)
		}
	}
	return strings.Join(parts, " ")
}

func (t *Terminal) glyphs() glyphs {
	if t.options.ASCII {
		return asciiGlyphs
	}
	return unicodeGlyphs
}

// printable writes s with what the terminal has.
func (t *Terminal) printable(s string) string {
	if !t.options.ASCII {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r == '…':
			b.WriteString(t.glyphs().dots)
		case r == 'µ':
			b.WriteByte('u')
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return b.String()
}

func (t *Terminal) write(s string) error {
	if t.err == nil && s != "" {
		if _, err := io.WriteString(t.out, s); err != nil {
			t.err = fmt.Errorf("report: %w", err)
		}
	}
	return t.err
}
