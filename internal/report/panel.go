package report

import (
	"strings"

	"github.com/fencelab/fencelab/internal/history"
)

// Places in the diagram, in pixels at its natural size.
const (
	pageWidth = 880
	margin    = 20

	timeRight  = 72  // the times end here
	firstRail  = 132 // the first lane's line
	wideRail   = 112 // from lane to lane
	tightRail  = 58
	railsRoom  = 340 // for all lanes, where they need not be tighter
	afterRail  = 44  // from the last lane to the text
	leastLabel = 260 // for the text

	rowHeight  = 38
	lineHeight = 16
	gapHeight  = 36
	edge       = 16 // between blocks
	legendRoom = 210
)

// Font sizes, and the widest that a cell of a monospaced font gets.
const (
	textSize  = 12.0
	smallSize = 10.5
	tinySize  = 10.0
	titleSize = 17.0

	verdictSize = 15.0
	em          = 0.62
)

// fits is how many cells of a font size go into so many pixels.
func fits(pixels int, size float64) int { return max(1, int(float64(pixels)/(size*em))) }

// pixels is the most that s can take up.
func pixels(s string, size float64) int { return int(float64(cells(s))*size*em) + 1 }

// panel is the diagram of one run.
type panel struct {
	shapes
	run     history.Run
	outcome Outcome
	rows    []Row
	lanes   []Lane // at the end, so all there are
	titled  bool   // its title differs from the one of the panel above
	width   int
	rail    int   // from lane to lane
	text    int   // where the text begins
	ys      []int // of the rows
}

func newPanel(d Drawing) *panel {
	var b Builder
	p := &panel{outcome: cleanOutcome(d.Outcome), width: pageWidth}
	for _, e := range d.Events {
		p.rows = append(p.rows, b.Add(e)...)
	}
	p.rows = append(p.rows, b.Flush()...)
	p.run, p.lanes = b.Run(), b.Lanes()
	p.rows = fold(p.rows, p.run.Fencing)

	gaps := max(len(p.lanes)-1, 0)
	p.rail = min(max(railsRoom/max(gaps, 1), tightRail), wideRail)
	p.text = p.x(gaps) + afterRail
	if p.pausedLast() {
		p.text += afterRail // its length is written beside the lane
	}
	p.width = max(p.width, p.text+leastLabel+margin)
	return p
}

// x is where a lane's line is.
func (p *panel) x(lane int) int { return firstRail + lane*p.rail }

// tight reports whether the lanes are too close for the usual font.
func (p *panel) tight() bool { return p.rail < 90 }

func (p *panel) pausedLast() bool {
	for _, r := range p.rows {
		if n := len(p.lanes); len(r.Lanes) == n && n > 0 && r.Lanes[n-1].State == Paused {
			return true
		}
	}
	return false
}

// layout places everything from y on and returns where it ends.
func (p *panel) layout(y int) int {
	if p.titled {
		y = p.paragraph(margin, y+18, "title", strong("%s", p.run.Title), fits(p.width-2*margin, titleSize), 24)
	} else {
		y += 2 * edge
	}
	name, about := variant(p.run)
	p.legend(y)
	y = p.paragraph(margin, y, "text", append(strong("%s:", name), say("%s", about)...), fits(p.width-2*margin-legendRoom, textSize), lineHeight)
	top := p.headings(y + 2)
	bottom := p.places(top)
	p.drawLanes(top, bottom)
	for i, r := range p.rows {
		p.drawRow(i, r)
	}
	return p.verdict(bottom + edge)
}

// legend says at the right what the bars mean.
func (p *panel) legend(y int) {
	x := p.width - legendRoom
	p.Bars = append(p.Bars, box{x, y - 11, 6, 14, hue(1)}, box{x + 120, y - 11, 14, 14, "pause"})
	p.Labels = append(p.Labels, label{x + 12, y, "legend", solid("holds the lock")}, label{x + 140, y, "legend", solid("stopped")})
}

// paragraph writes lines from the baseline y on and returns the next baseline.
func (p *panel) paragraph(x, y int, class string, t Text, width, height int) int {
	for _, line := range t.wrap(width) {
		p.Labels = append(p.Labels, label{x, y, class, joined(line)})
		y += height
	}
	return y
}

// joined merges neighbours of equal emphasis and puts in the spaces.
func joined(line Text) (out Text) {
	for i, w := range line {
		if i > 0 {
			out[len(out)-1].Text += " "
		}
		if n := len(out); n > 0 && out[n-1].Strong == w.Strong {
			out[n-1].Text += w.Text
			continue
		}
		out = append(out, w)
	}
	return out
}

// headings draws the lanes' names in boxes and returns where the boxes end.
func (p *panel) headings(y int) int {
	const most = 3
	size, class, width := textSize, "head", p.rail-12
	if p.tight() {
		size, class, width = tinySize, "head tiny", p.rail-4
	}
	names, tallest := make([][]Text, len(p.lanes)), 1
	for i, l := range p.lanes {
		names[i] = say("%s", heading(l.Name)).wrap(fits(width-6, size))
		if len(names[i]) > most {
			names[i] = append(names[i][:most-1], say("…"))
		}
		tallest = max(tallest, len(names[i]))
	}
	height := tallest*14 + 12
	for i, lines := range names {
		p.Boxes = append(p.Boxes, box{p.x(i) - width/2, y, width, height, "headbox"})
		base := y + height/2 - len(lines)*7 + 11
		for j, line := range lines {
			p.Labels = append(p.Labels, label{p.x(i), base + j*14, class, joined(line)})
		}
	}
	p.Labels = append(p.Labels, label{timeRight, y + height/2 + 4, "time", say("seconds")})
	return y + height
}

// places finds the height of each row, with a gap where much time went by, and
// returns where the lanes end.
func (p *panel) places(y int) int {
	y += edge / 2
	for i, r := range p.rows {
		if wait := r.At - p.before(i).At; wait >= longWait {
			p.tear(y+gapHeight/2, took(wait))
			y += gapHeight
		}
		height := max(rowHeight, len(p.lines(r))*lineHeight+16)
		p.ys = append(p.ys, y+height/2)
		y += height
	}
	return y + edge/2
}

// before is the row above row i; at the top one of time 0.
func (p *panel) before(i int) Row {
	if i == 0 {
		return Row{Lanes: p.rows[0].Lanes}
	}
	return p.rows[i-1]
}

// lines is a row's text as it fits beside the lanes.
func (p *panel) lines(r Row) []Text { return r.Text.wrap(fits(p.width-margin-p.text, textSize)) }

// verdict draws the banner and returns where it ends.
func (p *panel) verdict(y int) int {
	class := "v-" + p.outcome.Name
	switch p.outcome.Name {
	case history.Safe, history.Corrupted, history.Blocked:
	default:
		class = "v-other"
	}
	i := len(p.Boxes)
	p.Boxes = append(p.Boxes, box{margin, y, 0, 0, class})
	width := fits(p.width-2*margin-32, textSize)
	tone := "verdict"
	if !p.outcome.OK {
		tone = "verdict wrong"
	}
	head := append(strong("%s,", strings.ToUpper(p.outcome.Name)), say("%s", expectation(p.run, p.outcome))...)
	base := p.paragraph(margin+edge, y+24, tone, head, fits(p.width-2*margin-2*edge, verdictSize), 20)
	if m := meaning(p.outcome); m != "" {
		base = p.paragraph(margin+edge, base, "text", say("%s", m), width, lineHeight)
	}
	for _, v := range p.outcome.Violations {
		base = p.paragraph(margin+edge, base, "text", say("%s", v), width, lineHeight)
	}
	for _, m := range p.outcome.Mismatches {
		base = p.paragraph(margin+edge, base, "text", append(strong("not as expected:"), say("%s", m)...), width, lineHeight)
	}
	p.Boxes[i].H = base - y - 4
	return base
}

// stretch widens what goes over the whole picture, once its width is known.
func (p *panel) stretch(width int) {
	for i := range p.Bands {
		p.Bands[i].W = width - 2*p.Bands[i].X
	}
	for i := range p.Boxes {
		if strings.HasPrefix(p.Boxes[i].Class, "v-") {
			p.Boxes[i].W = width - 2*margin
		}
	}
}
