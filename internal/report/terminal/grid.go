package terminal

import (
	"cmp"
	"slices"
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

	headingStart = firstLane - 3 // the first column after the times
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

func blanks(columns int) line { return slices.Repeat(line{{" ", story.Plain}}, columns) }

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
	l := blanks(g.text())
	l.write(headingStart-story.Cells(time), time, dim)
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
	lanes := r.Lanes[:min(g.lanes, len(r.Lanes))]
	from, to := story.Index(lanes, r.Lane), story.Index(lanes, r.To)
	if r.Class == story.ClassFold {
		for i := range lanes {
			l[g.column(i)].sign = g.signs[story.KeyWait]
		}
	}
	if from < 0 {
		return l
	}
	with := r.Class.Tone
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
		l[c].tone = r.Class.Tone
	}
	switch {
	case r.Leg == story.Sent:
		l[b-step] = cell{" ", story.Plain}
	case r.Stopped():
		l[b-step] = cell{g.stop, r.Class.Tone}
	default:
		l[b-step] = cell{head, r.Class.Tone}
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

// headings writes the lanes' names over them: each on at most two lines where
// the lanes are wide enough, otherwise by turns on the upper and the lower line,
// with twice the room.
func (g grid) headings(lanes []story.Lane, printable func(string) string) []line {
	upper, lower := blanks(g.text()+wideLane), blanks(g.text()+wideLane) // with room for half of the last one
	upper.write(headingStart-5, "time", dim)
	wide := func(w story.Word) bool { return story.Cells(w.Text) > g.lane-1 }
	names, lines := make([]story.Text, g.lanes), make([][]story.Text, g.lanes)
	turns, two := false, false
	for i := range names {
		names[i] = story.Say("%s", lanes[i].Name).Mapped(printable)
		lines[i] = names[i].Wrap(g.lane - 1)
		two = two || len(lines[i]) > 1
		turns = turns || len(lines[i]) > 2 || slices.ContainsFunc(names[i], wide)
	}
	for i, name := range names {
		switch {
		case !turns:
			for j, part := range lines[i] {
				g.center([]line{upper, lower}[j], i, part.String())
			}
		case i%2 == 0:
			g.center(upper, i, g.fit(name, i))
			lower[g.column(i)] = cell{g.glyphs.lane, dim}
		default:
			g.center(lower, i, g.fit(name, i))
		}
	}
	if turns || two {
		return []line{upper, lower}
	}
	return []line{upper}
}

// fit shortens a name to the room that a lane's heading has by turns.
func (g grid) fit(name story.Text, lane int) string {
	room := 2*g.lane - 2
	if lane == 0 {
		room = g.lane + 3 // the times are in the way of its left half
	}
	switch s := name.String(); {
	case story.Cells(s) <= room:
		return s
	case len(name) > 1 && story.Cells(name[0].Text) <= room:
		return name[0].Text
	default:
		return story.Prefix(s, room-story.Cells(g.dots)) + g.dots
	}
}

func (g grid) center(l line, lane int, s string) {
	l.write(max(headingStart, g.column(lane)-story.Cells(s)/2), s, story.Bold)
}
