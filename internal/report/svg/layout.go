package svg

import "github.com/fencelab/fencelab/internal/report/story"

// Layout is the room that a diagram has, in pixels at its natural size.
type Layout struct {
	width, margin int
	timeRight     int  // the times end here
	rails         int  // for all lanes, where they need not be tighter
	most, least   int  // from lane to lane
	below         bool // a row's text goes below its arrow, not beside the lanes
}

// The layouts: for a screen or a page of paper, and for a phone.
var (
	Wide   = Layout{width: 880, margin: 20, timeRight: 72, rails: 340, most: 112, least: 58}
	Narrow = Layout{width: 400, margin: 8, timeRight: 62, rails: 340, most: 90, least: 47, below: true}
)

// Places that are the same in both.
const (
	afterRail  = 44  // from the last lane to the text
	afterMark  = 68  // where marks are written in between
	leastLabel = 260 // for the text

	rowHeight  = 38
	lineHeight = 16
	gapHeight  = 36
	edge       = 16 // between blocks
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
func pixels(s string, size float64) int { return int(float64(story.Cells(s))*size*em) + 1 }

// spread places the lanes.
func (p *panel) spread() {
	n := len(p.lanes)
	if p.below {
		p.rail = min(max((p.Layout.width-p.margin-p.timeRight)/max(n, 1), p.least), p.most)
		p.first = p.timeRight + p.rail/2
		p.width = max(p.Layout.width, p.x(n)-p.rail/2+p.margin)
		p.text = p.margin
		return
	}
	p.rail = min(max(p.rails/max(n-1, 1), p.least), p.most)
	p.first = p.timeRight + 60
	p.after = afterRail
	paused := false
	for _, r := range p.rows {
		if r.Mark != "" {
			p.after = afterMark
		}
		paused = paused || len(r.Lanes) == n && n > 0 && r.Lanes[n-1].State == story.Paused
	}
	if paused {
		p.after += afterRail // its length is written beside the lane
	}
	p.text = p.x(max(n-1, 0)) + p.after
	p.width = max(p.Layout.width, p.text+leastLabel+p.margin)
}

// x is where a lane's line is.
func (p *panel) x(lane int) int { return p.first + lane*p.rail }

// tight reports whether the lanes are too close for the usual font.
func (p *panel) tight() bool { return p.rail < 90 }

// lines is a row's text as it fits beside the lanes, or below.
func (p *panel) lines(r story.Row) []story.Text {
	return r.Text.Wrap(fits(p.width-p.margin-p.text, textSize))
}

// places finds the place of each row, with a gap where much time went by, and
// returns where the lanes end.
func (p *panel) places(y int) int {
	y += edge / 2
	for i, r := range p.rows {
		if above := p.before(i); story.Waits(above, r) {
			p.tear(y+gapHeight/2, story.Took(r.Start()-above.At))
			y += gapHeight
		}
		lines := len(p.lines(r)) * lineHeight
		s := slot{top: y, height: max(rowHeight, lines+16)}
		s.y, s.base = y+s.height/2, y+s.height/2+4-lines/2+lineHeight/2
		if p.below {
			s.height = rowHeight + lines
			s.y, s.base = y+rowHeight/2-3, y+rowHeight+lineHeight/2
		}
		p.slots = append(p.slots, s)
		y += s.height
	}
	return y + edge/2
}

// slot is the place of a row.
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
