package report

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/fencelab/fencelab/internal/history"
)

// Drawing is one run to draw: its history and its verdict.
type Drawing struct {
	Events  []history.Event
	Outcome Outcome
}

//go:embed diagram.svg.tmpl page.html.tmpl
var sources embed.FS

//go:embed diagram.css
var lightStyle string

//go:embed diagram-dark.css
var darkStyle string

var templates = template.Must(template.ParseFS(sources, "*.tmpl"))

// SVG draws runs one below the other as space-time diagrams: time goes down,
// each lane is a vertical line, messages are arrows. The picture needs nothing
// from outside and has a light and a dark look. It is well-formed whatever the
// history holds.
func SVG(w io.Writer, drawings ...Drawing) error {
	var out bytes.Buffer
	s := compose(wide, drawings...)
	s.Alone, s.Style = true, template.CSS(lightStyle+"@media (prefers-color-scheme: dark) {\n"+darkStyle+"}\n")
	if err := templates.ExecuteTemplate(&out, "diagram.svg.tmpl", s); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if _, err := w.Write(out.Bytes()); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// compose places the runs one below the other.
func compose(l layout, drawings ...Drawing) scene {
	s := scene{Width: l.width}
	var titles, desc []string
	y := l.margin
	for _, d := range drawings {
		p := newPanel(d, l)
		if len(titles) == 0 || titles[len(titles)-1] != p.run.Title {
			titles = append(titles, p.run.Title)
			p.titled = true
		}
		y = p.place(y)
		s.Width = max(s.Width, p.width)
		s.Panels = append(s.Panels, p)
		desc = append(desc, p.story())
	}
	for _, p := range s.Panels {
		p.stretch(s.Width)
	}
	s.Height = y + l.margin
	s.Title, s.Desc = strings.Join(titles, "; "), strings.Join(desc, " ")
	return s
}

// inline draws one run for a page, which says itself what its title is.
func inline(d Drawing, l layout) scene {
	p := newPanel(d, l)
	height := p.place(lineHeight/2) + l.margin
	p.stretch(p.width)
	name, _ := variant(p.run)
	return scene{Width: p.width, Height: height, Title: p.run.Title + ": " + name, Panels: []*panel{p}}
}

// scene is what the template draws: shapes with places, in the order of the
// fields, so that later ones lie over earlier ones.
type scene struct {
	Width, Height int
	Title, Desc   string
	Alone         bool         // a file of its own, not part of a page
	Style         template.CSS // of a file of its own
	Panels        []*panel
}

type shapes struct {
	Bands  []box   // behind rows that matter
	Lines  []seg   // lanes
	Bars   []box   // tenures and pauses
	Tears  []tear  // where time is left out
	Arrows []arrow // messages
	Signs  []sign  // what happens in a lane
	Boxes  []box   // headings, tokens, the verdict
	Labels []label
	Areas  []event
}

// event is what a row of a page says when it is pointed at.
type event struct {
	box
	Details string
}

type box struct {
	X, Y, W, H int
	Class      string
}

type seg struct {
	X1, Y1, X2, Y2 int
	Class          string
}

// tear is a strip of background between two wavy lines.
type tear struct {
	box
	Waves string // path
}

// arrow is a shaft and what is at its end: a head or, where it was refused, a
// cross.
type arrow struct {
	seg
	Head, Cross string // paths
}

// sign is a disc, a path on it, or both.
type sign struct {
	X, Y, R int
	Class   string
	Path    string
}

type label struct {
	X, Y  int
	Class string
	Words Text // joined as they are
}

// story tells the panel's rows in sentences, for those who cannot see them.
func (p *panel) story() string {
	name, about := variant(p.run)
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s.", name, about)
	for _, r := range p.rows {
		fmt.Fprintf(&b, " %s s: %s.", clock(r.At), r.Text)
	}
	if p.outcome.Trouble != "" {
		fmt.Fprintf(&b, " Not judged: %s.", p.outcome.Trouble)
	} else {
		fmt.Fprintf(&b, " Verdict: %s, %s.", p.outcome.Name, expectation(p.run, p.outcome))
	}
	return b.String()
}
