// Package svg draws runs as space-time diagrams.
package svg

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/fencelab/fencelab/internal/report/story"
)

//go:embed diagram.svg.tmpl
var source string

// LightStyle and DarkStyle are how a diagram looks.
var (
	//go:embed diagram.css
	LightStyle string
	//go:embed diagram-dark.css
	DarkStyle string
)

// Template draws a Scene. Its template "hatch" is what pauses are filled with.
var Template = template.Must(template.New("diagram.svg.tmpl").Parse(source))

// Write draws runs one below the other as space-time diagrams: time goes down, lanes are vertical lines, messages
// are arrows. The picture needs nothing from outside, has a light and a dark look, and is well-formed whatever the
// history holds.
func Write(w io.Writer, l Layout, drawings ...story.Drawing) error {
	return Render(w, Template, Compose(l, drawings...))
}

// Render writes what a template makes of data, if it can make all of it.
func Render(w io.Writer, t *template.Template, data any) error {
	var out bytes.Buffer
	err := t.Execute(&out, data)
	if err == nil {
		_, err = w.Write(out.Bytes())
	}
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// Compose places the runs one below the other.
func Compose(l Layout, drawings ...story.Drawing) Scene {
	style := LightStyle + "@media (prefers-color-scheme: dark) {\n" + DarkStyle + "}\n"
	s := Scene{Width: l.width, Phone: l.phone, Alone: true, Style: template.CSS(style)}
	for _, d := range drawings {
		p := newPanel(d, l)
		p.beside = len(drawings) > 1
		s.Panels = append(s.Panels, p)
	}
	numbers := shortOf(s.Panels)
	var titles, desc []string
	y := l.margin
	for _, p := range s.Panels {
		numbers.apply(p)
		if len(titles) == 0 || titles[len(titles)-1] != p.run.Title {
			titles = append(titles, p.run.Title)
			p.titled = true
		}
		y = p.place(y)
		s.Width = max(s.Width, p.width)
		desc = append(desc, p.description())
	}
	for _, p := range s.Panels {
		p.stretch(s.Width)
	}
	s.Height = y + l.margin
	if l.moving {
		s.Covers = s.covers()
		s.Motion = motion(len(s.Covers))
	}
	s.Title, s.Desc = strings.Join(titles, "; "), strings.Join(desc, " ")
	return s
}

// Figure draws one run as an element of a page, which has the style.
func Figure(w io.Writer, d story.Drawing, l Layout) error { return Render(w, figure, Inline(d, l)) }

var figure = template.Must(template.Must(Template.Clone()).New("figure").Parse(`<figure>{{template "diagram.svg.tmpl" .}}</figure>`))

// Inline draws one run for a page, which says itself what its title is.
func Inline(d story.Drawing, l Layout) Scene {
	p := newPanel(d, l)
	shortOf([]*panel{p}).apply(p)
	height := p.place(lineHeight/2) + l.margin
	p.stretch(p.width)
	name, _ := story.Variant(p.run)
	return Scene{Width: p.width, Height: height, Phone: l.phone, Title: p.run.Title + ": " + name, Panels: []*panel{p}}
}

// Scene is what the template draws: shapes with places. Later fields lie over earlier ones.
type Scene struct {
	Width, Height int
	Title, Desc   string
	Phone         bool         // the narrow form
	Alone         bool         // a file of its own, not part of a page
	Style         template.CSS // of a file of its own
	Panels        []*panel
	Covers        []box        // of a moving picture
	Motion        template.CSS // of the covers
}

type shapes struct {
	Lines  []seg   // lanes
	Bars   []box   // tenures and pauses
	Veils  []box   // behind texts that lie over lanes
	Bands  []box   // over rows that matter
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

type tear struct {
	box
	Waves string // path
}

// arrow is a shaft and what is at its end: a head or, where it was refused, a cross.
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
	Words story.Text // joined as they are
}

// description tells the panel's rows in sentences, for those who cannot see them.
func (p *panel) description() string {
	name, about := story.Variant(p.run)
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s.", name, about)
	for _, r := range p.rows {
		if !p.timeless() {
			fmt.Fprintf(&b, " %s s:", story.Clock(r.At))
		}
		fmt.Fprintf(&b, " %s.", r.Text)
	}
	if p.outcome.Trouble != "" {
		fmt.Fprintf(&b, " Not judged: %s.", p.outcome.Trouble)
	} else {
		fmt.Fprintf(&b, " Verdict: %s.", p.outcome.Headline(p.outcome.Name, p.run.Control))
	}
	return b.String()
}
