package terminal

import (
	"cmp"
	"strings"

	"github.com/fencelab/fencelab/internal/report/story"
)

// Columns of a line in the terminal: the time, the lanes, the text.
const (
	firstLane = 10 // after a time of seven cells and half of a heading
	wideLane  = 9
	tightLane = 5
	afterLane = 3
	leastText = 24
)

// grid places lanes in the columns of a line.
type grid struct {
	glyphs
	width int // of the whole line
	lane  int // columns from lane to lane
	lanes int // how many are drawn; text tells of the others
}

func newGrid(width, lanes int, g glyphs) grid {
	room := width - firstLane - afterLane - leastText
	drawn := min(lanes, max(room, 0)/tightLane+1)
	lane := wideLane
	if drawn > 1 {
		lane = max(min(room/(drawn-1), wideLane), tightLane)
	}
	return grid{glyphs: g, width: width, lane: lane, lanes: drawn}
}

func (g grid) column(lane int) int { return firstLane + lane*g.lane }

// text is the first column of the text.
func (g grid) text() int { return g.column(max(g.lanes, 1)-1) + afterLane }

// A cell is one column of a line.
type cell struct {
	sign string
	tone story.Tone
}

// line is the time and the lanes, up to the text.
type line []cell

func (g grid) blank(time string) line {
	l := make(line, g.text())
	for i := range l {
		l[i] = cell{" ", story.Plain}
	}
	l.write(headingStart-story.Cells(time), time, dim)
	return l
}

// write puts s at a column; a sign two cells wide leaves the second one empty.
func (l line) write(column int, s string, with story.Tone) {
	for s != "" {
		sign := cmp.Or(story.Prefix(s, 1), story.Prefix(s, 2))
		s = s[len(sign):]
		n := story.Cells(sign)
		if sign == "" || column+n > len(l) {
			return
		}
		for i := range n {
			l[column+i] = cell{"", with}
		}
		l[column] = cell{sign, with}
		column += n
	}
}

// bars is a line on which nothing happens: how the lanes are after r.
func (g grid) bars(time string, lanes []story.Lane) line {
	l := g.blank(time)
	for i, lane := range lanes[:min(g.lanes, len(lanes))] {
		c := &l[g.column(i)]
		switch {
		case lane.State == story.Paused:
			*c = cell{g.signs[story.KeyPause], story.Fault}
		case lane.State == story.Dead:
		case lane.Tenure > 0:
			*c = cell{g.signs[story.KeyHold], hold}
		default:
			*c = cell{g.glyphs.lane, dim}
		}
	}
	return l
}

// step is the line on which r happens.
func (g grid) step(r story.Row) line {
	l := g.bars(story.Clock(r.At), r.Lanes)
	from, to := g.index(r, r.Lane), g.index(r, r.To)
	if r.Class == story.ClassFold {
		for i := range r.Lanes[:min(g.lanes, len(r.Lanes))] {
			l[g.column(i)].sign = g.signs[story.KeyWait]
		}
	}
	if from < 0 {
		return l
	}
	with := r.Class.Look().Tone
	start := &l[g.column(from)]
	if to < 0 {
		if r.Class != story.ClassPause {
			*start = cell{g.sign(r.Class), with}
		}
		return l
	}
	if r.Lanes[from].State == story.Running && r.Leg != story.Arrived {
		*start = cell{g.dot, with}
	}
	g.arrow(l, r, g.column(from), g.column(to))
	if r.Mark != "" {
		l[g.column(to)] = cell{g.signs[story.KeyRise], with}
	}
	return l
}

// index is the place of a drawn lane; -1: none.
func (g grid) index(r story.Row, name string) int {
	for i, l := range r.Lanes[:min(g.lanes, len(r.Lanes))] {
		if l.Name == name && name != "" {
			return i
		}
	}
	return -1
}

// arrow draws from column a to column b: over lanes, but never over a pause.
func (g grid) arrow(l line, r story.Row, a, b int) {
	shaft, cross, crossHold := g.line, g.cross, g.crossHold
	switch {
	case r.Harmful():
		shaft, cross, crossHold = g.heavy, g.heavyCross, g.heavyCross
	case r.Leg != story.Whole:
		shaft = g.late
	}
	step, head := 1, g.right
	if b < a {
		step, head = -1, g.left
	}
	for c := a + step; c != b; c += step {
		switch l[c].sign {
		case " ":
			l[c].sign = shaft
		case g.glyphs.lane:
			l[c].sign = cross
		case g.signs[story.KeyHold]:
			l[c].sign = crossHold
		default:
			continue
		}
		l[c].tone = r.Class.Look().Tone
	}
	switch {
	case r.Leg == story.Sent:
		l[b-step] = cell{" ", story.Plain}
	case r.Stopped():
		l[b-step] = cell{g.stop, r.Class.Look().Tone}
	default:
		l[b-step] = cell{head, r.Class.Look().Tone}
	}
}

func (l line) String() string {
	var b strings.Builder
	for len(l) > 0 {
		n := 1
		for n < len(l) && l[n].tone == l[0].tone {
			n++
		}
		var run strings.Builder
		for _, c := range l[:n] {
			run.WriteString(c.sign)
		}
		b.WriteString(paint(l[0].tone, run.String()))
		l = l[n:]
	}
	return b.String()
}
