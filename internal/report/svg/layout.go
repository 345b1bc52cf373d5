package svg

import "github.com/fencelab/fencelab/internal/report/story"

// Layout is the form of a picture: its room, in pixels at its natural size, and what goes where.
type Layout struct {
	width, margin int
	left          int // the lanes begin here: right of the times, where these have a column
	most, least   int // from lane to lane
	moving        bool
	phone         bool // a row's time and text go below its arrow, not beside the lanes

	titleSize, verdictSize, smallSize, tinySize float64 // of fonts
}

// The forms for a screen or paper, and for a phone. A phone shows the narrow one at nine tenths of its size, so
// that no font of it is smaller than that of text.
var (
	Wide   = Layout{width: 880, margin: 20, left: 78, most: 112, least: 58, titleSize: 17, verdictSize: 15, smallSize: 10.5, tinySize: 10}
	Narrow = Layout{width: 350, margin: 8, left: 8, most: 112, least: 55, phone: true, titleSize: 15, verdictSize: 14, smallSize: textSize, tinySize: textSize}
)

// Places of the wide form.
const (
	lanesWidth = 340 // where the lanes need not be tighter
	beforeRail = 54  // from the times to the first lane
	afterRail  = 44  // from the last lane to the text
	afterMark  = 68  // where marks are written in between
	leastLabel = 260 // for the text
)

// Places that are the same in both.
const (
	rowHeight  = 38
	lineHeight = 16
	gapHeight  = 36
	edge       = 16 // between blocks

	screen  = 600 // after so much the lanes' names are there again
	fewRows = 3   // but not for so few

	textSize = 12.0
	em       = 0.62 // the widest that a cell of a monospaced font gets
)

// fits is how many cells of a font size go into so many pixels.
func fits(pixels int, size float64) int { return max(1, int(float64(pixels)/(size*em))) }

// pixels is the most that s can take up.
func pixels(s string, size float64) int { return int(float64(story.Cells(s))*size*em) + 1 }

func (p *panel) spread() {
	n := len(p.lanes)
	p.width = p.Layout.width
	if p.phone {
		p.rail = min((p.width-2*p.margin)/max(n, 1), p.most)
		p.first = (p.width - (n-1)*p.rail) / 2
		p.after = p.rail / 2
		p.text = p.margin
		return
	}
	p.rail = min(max(lanesWidth/max(n-1, 1), p.least), p.most)
	p.first = p.left + beforeRail
	p.after = afterRail
	labelled := false
	for _, r := range p.rows {
		if r.Mark != "" {
			p.after = afterMark
		}
		if len(r.Lanes) == n && n > 0 {
			last := r.Lanes[n-1]
			labelled = labelled || last.State == story.Paused || last.Mistaken()
		}
	}
	if labelled {
		p.after += afterRail // words are written beside the last lane
	}
	p.text = p.x(max(n-1, 0)) + p.after
	p.width = max(p.width, p.text+leastLabel+p.margin)
}

func (p *panel) x(lane int) int { return p.first + lane*p.rail }

// tight reports whether the lanes are too close for the usual font.
func (p *panel) tight() bool { return p.rail < 90 }

func (l Layout) room() int { return (l.width - 2*l.margin) / l.least }

// lines is row i's text as it fits beside the lanes; or below, where it begins with the time.
func (p *panel) lines(i int) []story.Text {
	text := p.rows[i].Text
	if p.phone && p.timed(i) {
		text = append(story.Solid(story.Clock(p.rows[i].At)), text...)
	}
	return text.Wrap(fits(p.width-p.margin-p.text, textSize))
}

// timed reports whether row i says its time: the row above has another.
func (p *panel) timed(i int) bool {
	return !p.timeless() && (i == 0 || story.Clock(p.rows[i].At) != story.Clock(p.rows[i-1].At))
}

// timeless reports whether the story has no time, as that of a model: all of it is at 0.
func (p *panel) timeless() bool { return p.rows[len(p.rows)-1].At == 0 }

// places finds the place of each row, with gaps where much time went by, and returns the lanes' end.
func (p *panel) places(y int) int {
	named := y
	y += edge / 2
	for i, r := range p.rows {
		if y-named > screen && len(p.rows)-i > fewRows {
			y = p.headings(y+edge/2, true) + edge/2
			named = y
		}
		if above := p.before(i); story.Waits(above, r) {
			p.tear(y+gapHeight/2, story.Took(r.Start()-above.At))
			y += gapHeight
		}
		lines := len(p.lines(i)) * lineHeight
		s := slot{top: y, height: max(rowHeight, lines+16)}
		s.y, s.base = y+s.height/2, y+s.height/2+4-lines/2+lineHeight/2
		if p.phone {
			s.height = rowHeight + lines
			s.y, s.base = y+rowHeight/2-3, y+rowHeight+lineHeight/2
		}
		p.slots = append(p.slots, s)
		y += s.height
	}
	return y + edge/2
}

type slot struct {
	top, height int
	y           int // of what happens
	base        int // of the first line of the text
}

// before is the row above row i; at the top one of time 0.
func (p *panel) before(i int) story.Row {
	if i == 0 {
		return story.Row{Lanes: p.rows[0].Lanes}
	}
	return p.rows[i-1]
}
