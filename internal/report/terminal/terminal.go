// Package terminal draws the rows of a run as lines of text, also while the run goes on.
package terminal

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/colorprofile"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/columns"
	"github.com/fencelab/fencelab/internal/report/story"
)

// Options says what a terminal can show.
type Options struct {
	Width   int                   // columns; 0: 80; never fewer than MinWidth or more than MaxWidth
	Profile colorprofile.Profile  // the zero value is plain text
	ASCII   bool                  // no byte above 0x7f
	Pace    func(story.Row) error // called before each row; after an error nothing more is drawn; nil: rows don't wait
}

const (
	MinWidth     = 40
	MaxWidth     = 1000
	defaultWidth = 80
)

// Detect finds out what w can show: plain text unless it is a terminal; its width, else COLUMNS; ASCII alone where
// the locale has no UTF-8. It honours CLICOLOR, CLICOLOR_FORCE and, before them, NO_COLOR.
func Detect(w io.Writer, environ []string) Options {
	env := func(name string) (value string) {
		for _, v := range environ {
			if after, ok := strings.CutPrefix(v, name+"="); ok {
				value = after
			}
		}
		return value
	}
	o := Options{Profile: colorprofile.Detect(w, environ)}
	if env("NO_COLOR") != "" { // colorprofile takes it for a boolean; by no-color.org any value counts
		o.Profile = min(o.Profile, colorprofile.ASCII)
	}
	o.Width = columns.Of(w, env("COLUMNS"))
	locale := strings.ToUpper(cmp.Or(env("LC_ALL"), env("LC_CTYPE"), env("LANG")))
	o.ASCII = locale != "" && !strings.Contains(strings.ReplaceAll(locale, "-", ""), "UTF8")
	return o
}

// Timeline draws runs line by line while they go on. After an error of writing it draws nothing more.
type Timeline struct {
	out     io.Writer
	options Options
	glyphs  glyphs
	err     error

	begun      bool // a run is drawn, or was
	controlled bool // … that is a control
	title      string
	leases     string      // as they were said last
	explained  []story.Key // under this title

	// Of the run that is drawn:
	builder *story.Builder
	grid    grid
	above   story.Row     // the last row; before it, one that has the lanes
	keys    story.Keys    // what was drawn so far
	counts  int           // how many counts go on
	folder  *story.Folder // while they do
}

func New(w io.Writer, o Options) *Timeline {
	o.Width = min(max(cmp.Or(o.Width, defaultWidth), MinWidth), MaxWidth)
	t := &Timeline{out: &colorprofile.Writer{Forward: w, Profile: o.Profile}, options: o, glyphs: unicodeGlyphs}
	if o.ASCII {
		t.glyphs = asciiGlyphs
	}
	return t
}

// Add draws the rows of the next events, as Builder.Add makes them. A run's first event says what is run. A legend
// comes first: of its own signs where all of its events are there, else of the usual ones.
func (t *Timeline) Add(events []history.Event, violations []history.Violation) error {
	if len(events) > 0 && events[0].Kind == history.KindRun {
		t.begin(events, violations)
		events = events[1:]
	}
	t.rows(t.fold(t.builder.Add(events, violations)))
	return t.err
}

// What must be known to read the texts, once.
var words = story.Say("Each grant of the lock carries a token: a number, higher each time.")

const control = "A control is unprotected, and must fail."

func (t *Timeline) begin(events []history.Event, violations []history.Violation) {
	t.builder, t.above, t.keys, t.counts, t.folder = story.NewBuilder(), story.Row{}, story.Keys{}, 0, nil
	t.builder.Add(events[:1], nil)
	run := t.builder.Run()
	var out strings.Builder
	if t.begun {
		out.WriteByte('\n')
	}
	if !t.begun || run.Title != t.title {
		t.title, t.explained = run.Title, nil
		t.paragraph(&out, "", story.Strong("%s", run.Title), story.Bold)
		if !t.begun {
			t.paragraph(&out, "", words, story.Plain)
		}
		out.WriteByte('\n')
	}
	t.begun = true
	name, about := story.Variant(run)
	t.paragraph(&out, "", append(story.Strong("%s:", name), story.Say("%s", about)...), story.Bold)
	var more []string
	if run.Leases != "" && run.Leases != t.leases {
		t.leases = run.Leases
		more = append(more, run.Leases)
	}
	if run.Control && !t.controlled {
		t.controlled = true
		more = append(more, control)
	}
	if more != nil {
		t.paragraph(&out, "", story.Say("%s", strings.Join(more, ". ")), story.Plain)
	}
	t.keys = maps.Clone(usual)
	if events[len(events)-1].Kind == history.KindEnd {
		all := New(io.Discard, Options{})
		_ = all.Add(events[:1], nil)
		all.keys = story.Keys{}
		_ = all.Add(events[1:], violations)
		t.keys = all.keys
	}
	t.legend(&out)
	t.relane(&out, t.builder.Lanes())
	t.write(out.String())
}

// usual are the signs of most stories.
var usual = story.Keys{
	story.KeyHold: true, story.KeyBelief: true, story.KeyPause: true, story.KeyMessage: true, story.KeyRefused: true,
	story.KeyHarm: true, story.KeyOver: true, story.KeyLost: true, story.KeyResult: true, story.KeyWait: true,
}

// legend explains what was not explained before.
func (t *Timeline) legend(out *strings.Builder) {
	var entries story.Text
	shown := t.keys.Shown(t.explained...)
	for _, k := range shown {
		entries = append(entries, story.Solid(t.glyphs.sample(k)+" "+t.keys.Words(k)+" ")...)
	}
	if t.explained = append(t.explained, shown...); len(shown) == 0 {
		return
	}
	for _, l := range entries.Wrap(t.options.Width - 1) {
		out.WriteString(paint(dim, strings.TrimRight(l.String(), " ")) + "\n")
	}
}

// fold returns the rows that can be drawn now. While clients count, ordinary rows are told as one.
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

func (t *Timeline) unfold() (rows []story.Row) {
	if t.folder != nil {
		rows, t.folder = t.folder.End(), nil
	}
	return rows
}

// End draws what is held back, the legend of further signs, and the verdict or why there is none. The drawing is the
// whole run. Its events can have another order than those that were added while the run went on: an account that came
// late belongs before them.
func (t *Timeline) End(d story.Drawing) error {
	o := d.Outcome.Clean()
	t.rows(t.unfold())
	var out strings.Builder
	t.legend(&out)
	headline := append(story.Say("verdict:"), o.Headline(o.Name, t.builder.Run().Control)...)
	if o.Facts.Fenced == "no" && !t.builder.Run().Fencing { // as is said of the run
		o.Facts.Fenced = ""
	}
	whole := story.NewBuilder()
	whole.Add(d.Events, nil)
	if fate := whole.Fate(o); fate != nil {
		headline[len(headline)-1].Text += ":"
		headline = append(headline, fate...)
		if o.OK && len(o.Violations) < 2 { // all is said
			o.Name, o.Violations = "", nil
		}
	}
	t.paragraph(&out, "", headline, story.Bold)
	for _, text := range o.Findings() {
		t.paragraph(&out, "  ", text, story.Bad)
	}
	t.write(out.String())
	return t.err
}

func (t *Timeline) rows(rows []story.Row) {
	for _, r := range rows {
		if t.err == nil && t.options.Pace != nil {
			t.err = t.options.Pace(r)
		}
		var out strings.Builder
		if len(r.Lanes) != len(t.above.Lanes) {
			t.relane(&out, r.Lanes)
		}
		if story.Waits(t.above, r) {
			took := story.Say("%s", story.Took(r.Start()-t.above.At))
			t.put(&out, t.grid.bars(t.glyphs.signs[story.KeyWait], t.above.Lanes), took, t.above.Lanes, quiet)
		}
		t.keys.Add(t.above, r)
		t.keys[story.KeyBelief] = t.keys[story.KeyBelief] || slices.ContainsFunc(r.Lanes, story.Lane.Mistaken)
		ink := func(words story.Text) string { return render(words, r.Class.Tone) }
		if r.Class == story.ClassNote {
			ink = quiet
		}
		t.put(&out, t.grid.step(r), r.Text, r.Lanes, ink)
		t.above = r
		t.write(out.String())
	}
}

func (t *Timeline) relane(out *strings.Builder, lanes []story.Lane) {
	t.above.Lanes = lanes
	names := make([]string, len(lanes))
	for i, l := range lanes {
		names[i] = t.printable(l.Name)
	}
	t.grid = newGrid(t.options.Width, names, t.glyphs)
	for _, l := range t.grid.headings(names) {
		out.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
	var hidden []string
	for i, column := range t.grid.columns {
		if column == 0 {
			hidden = append(hidden, names[i])
		}
	}
	if len(hidden) > 0 {
		t.paragraph(out, "", story.Say("(no room to draw %s)", strings.Join(hidden, ", ")), story.Plain)
	}
}

// put writes a line of the picture and its text: beside it, where the lanes go on, or below.
func (t *Timeline) put(out *strings.Builder, l line, text story.Text, lanes []story.Lane, ink func(story.Text) string) {
	end := func(l line, words string) {
		out.WriteString(strings.TrimRight(l.String()+words, " ") + "\n")
	}
	if t.grid.below {
		end(l, "")
	}
	for _, words := range text.Mapped(t.printable).Wrap(t.grid.width - t.grid.text) {
		if t.grid.below {
			l = blanks(t.grid.text)
		}
		end(l[:t.grid.text], ink(words))
		l = t.grid.bars("", lanes)
	}
}

// quiet writes words that are no step of the story.
func quiet(words story.Text) string { return paint(dim, words.String()) }

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

func (t *Timeline) write(s string) {
	if t.err != nil || s == "" {
		return
	}
	if _, err := io.WriteString(t.out, s); err != nil {
		t.err = fmt.Errorf("report: %w", err)
	}
}
