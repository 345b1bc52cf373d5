package svg

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/fencelab/fencelab/internal/report/story"
)

const hues = 4

func hue(tenure int) string {
	if tenure == 0 {
		return "t0"
	}
	return "t" + strconv.Itoa((tenure-1)%hues+1)
}

// drawLanes draws each lane's line, and on it the tenures that it holds, those that it believes to hold, and its
// pauses, from the row where each begins to the one where it ends.
func (p *panel) drawLanes(top, bottom int) {
	for i := range p.lanes {
		x, half := p.x(i), 9
		if p.tight() {
			half = 7
		}
		for _, s := range spans(p, i, top, bottom, func(l story.Lane) story.State { return l.State }) {
			if s.value != story.Dead {
				p.Lines = append(p.Lines, seg{x, s.from, x, s.to, "rail"})
			}
			if s.value == story.Paused {
				p.Bars = append(p.Bars, box{x - half, s.from, 2 * half, s.to - s.from, "pause"})
				p.pauseLabel(i, x+half+5, s.stretch)
			}
		}
		for _, s := range spans(p, i, top, bottom, believed()) {
			if s.value > 0 {
				p.Bars = append(p.Bars, box{x - half - 6, s.from, 5, s.to - s.from, "belief " + hue(s.value-1)})
			}
		}
		for _, s := range spans(p, i, top, bottom, func(l story.Lane) int { return l.Tenure }) {
			if s.value > 0 {
				p.Bars = append(p.Bars, box{x - 3, s.from, 6, s.to - s.from, hue(s.value)})
			}
		}
		for _, s := range spans(p, i, top, bottom, story.Lane.Mistaken) {
			if s.value {
				p.beliefLabel(x+half+5, s.stretch)
			}
		}
	}
}

// believed finds the tenure that a lane believes to hold, plus one: its last; 1: an unknown one; 0: none.
func believed() func(story.Lane) int {
	last := 0
	return func(l story.Lane) int {
		last = cmp.Or(l.Tenure, last)
		if !l.Believes {
			return 0
		}
		return last + 1
	}
}

// beliefLabel says where a client begins to only believe in its lock, if nothing else is there.
func (p *panel) beliefLabel(x int, s stretch) {
	row := p.rows[s.begin]
	if p.phone || p.tight() || row.To != "" || row.Class == story.ClassPause {
		return
	}
	for i, word := range story.Strong("still believes") {
		p.Labels = append(p.Labels, label{x, s.from + 4 + i*13, "believes", story.Text{word}})
	}
}

// pauseLabel writes how long a lane stands still beside the row where that begins, without an arrow.
func (p *panel) pauseLabel(lane, x int, s stretch) {
	if p.phone {
		return // no room, and the row where it goes on says so
	}
	y, class := s.from+4, "stopped"
	if !p.tight() {
		p.Labels = append(p.Labels, label{x, y, class, story.Strong("stopped")})
		y += 13
	} else {
		class += " tiny"
	}
	if s.end < len(p.rows) && p.rows[s.end].Class == story.ClassResume && p.rows[s.end].Lane == p.lanes[lane].Name {
		p.Labels = append(p.Labels, label{x, y, class, story.Strong("%s", story.Took(p.rows[s.end].Took))})
	}
}

type stretch struct {
	from, to   int
	begin, end int // the rows that begin and end it
}

// span is a stretch on which a value stays as it is.
type span[T comparable] struct {
	stretch
	value T
}

func spans[T comparable](p *panel, lane, top, bottom int, value func(story.Lane) T) []span[T] {
	all := []span[T]{{stretch: stretch{from: top, to: bottom, end: len(p.rows)}}}
	for i, r := range p.rows {
		var v T
		if lane < len(r.Lanes) {
			v = value(r.Lanes[lane])
		}
		if last := &all[len(all)-1]; v != last.value {
			last.to, last.end = p.slots[i].y, i
			all = append(all, span[T]{stretch{p.slots[i].y, bottom, i, len(p.rows)}, v})
		}
	}
	return all
}

// axis draws the axis of time, with a tick for each row whose time is written.
func (p *panel) axis(top, bottom int) {
	if p.phone {
		return // the texts say the times
	}
	p.Lines = append(p.Lines, seg{p.left, top, p.left, bottom, "axis"})
	for i, r := range p.rows {
		if !p.timed(i) {
			continue
		}
		y := p.slots[i].y
		p.Lines = append(p.Lines, seg{p.left - 3, y, p.left + 3, y, "axis"})
		p.Labels = append(p.Labels, label{p.left - 6, y + 4, "time", story.Say("%s", story.Clock(r.At))})
	}
}

func (p *panel) tear(y int, wait string) {
	from, to := p.left-4, p.x(max(len(p.lanes)-1, 0))+14
	switch {
	case wait == "":
	case p.phone:
		p.Labels = append(p.Labels, label{p.margin, y + 4, "wait begins", story.Say("%s", wait)})
		from, to = p.margin+pixels(wait, p.smallSize)+4, p.width-p.margin
	default:
		p.Labels = append(p.Labels, label{p.left - 6, y + 4, "wait", story.Say("%s", wait)})
	}
	p.wave(from, y, to-from)
}

// wave draws a strip of background between two wavy lines.
func (p *panel) wave(x, y, width int) {
	wave := strings.Repeat("q4 -5 8 0t8 0", width/16)
	p.Tears = append(p.Tears, tear{box{x, y - 3, width / 16 * 16, 7, "tear"}, fmt.Sprintf("M%d %d%sM%d %d%s", x, y-3, wave, x, y+4, wave)})
}

func (p *panel) drawRow(i int, r story.Row) {
	s := p.slots[i]
	y := s.y
	area := box{p.margin / 2, s.top + 2, 0, s.height - 4, "band"}
	switch {
	case r.Harmful(), r.Class == story.ClassError:
		p.Bands = append(p.Bands, area)
	case r.Stopped():
		p.Bands = append(p.Bands, box{area.X, area.Y, area.W, area.H, "band good"})
	}
	area.Class = "area"
	p.Areas = append(p.Areas, event{area, r.Details()})
	if r.Class == story.ClassFold {
		p.tear(y-3, "")
		p.tear(y+3, "")
	}
	p.say(i, r)
	from, to := story.Index(p.lanes, r.Lane), story.Index(p.lanes, r.To)
	switch {
	case from < 0, to < 0 && r.Class == story.ClassPause:
	case to < 0:
		p.sign(p.x(from), y, r.Class)
	default:
		p.message(i, r, p.x(from), p.x(to))
	}
}

// say writes the text of row i. Below the arrow it lies over the lanes, which shine through.
func (p *panel) say(i int, r story.Row) {
	lines, class, base, x := p.lines(i), "text", p.slots[i].base, p.text
	if r.Class == story.ClassNote {
		class += " note"
	}
	for j, line := range lines {
		if p.phone {
			p.Veils = append(p.Veils, box{x - 2, base + j*lineHeight - 12, pixels(line.String(), textSize) + 4, lineHeight, "veil"})
		}
	}
	if p.phone && p.timed(i) {
		clock := lines[0][:1]
		p.Labels = append(p.Labels, label{x, base, "time begins", clock})
		lines[0] = lines[0][1:]
		x += pixels(clock.String()+" ", textSize)
	}
	for j, line := range lines {
		if len(line) > 0 {
			p.Labels = append(p.Labels, label{x, base + j*lineHeight, class + " " + r.Class.Name, joined(line)})
		}
		x = p.text
	}
}

// shafts are the classes of arrows that have no tenure's colour.
var shafts = map[story.Tone]string{story.Bad: "bad", story.Shield: "refused"}

// message draws the arrow of row i. A slow one is slanted: it starts in the row where it was sent.
func (p *panel) message(i int, r story.Row, from, to int) {
	y := p.slots[i].y
	dir := 1
	if to < from {
		dir = -1
	}
	class := cmp.Or(shafts[r.Class.Tone], "mute")
	if r.Class.Carries {
		class = hue(r.Tenure)
	}
	a := arrow{seg: seg{from, y, to - dir*2, y, class}}
	switch {
	case r.Leg == story.Sent:
		if _, arrives := p.pairs[i]; arrives {
			p.dot(from, y, class)
			return
		}
		a.X2, a.Class = from+dir*p.rail*3/5, class+" late"
	case r.Leg == story.Arrived:
		if sent, known := p.pairs[i]; known {
			a.Y1 = p.slots[sent].y
		}
		a.Class += " late"
	case r.Harmful():
		a.Class += " thick"
	}
	if r.Leg != story.Arrived {
		p.dot(from, y, class)
	}
	if r.Leg == story.Whole {
		p.token(r, from, dir, y)
	}
	p.mark(r, to, dir, y)
	switch {
	case r.Leg == story.Sent:
	case r.Stopped():
		a.X2 = to - dir*14
		a.Cross = cross(a.X2, y, 6)
		p.Bars = append(p.Bars, box{to - 3, y - 13, 6, 26, "shield " + class})
		if r.Harmful() {
			p.sign(to+dir*15, y, r.Class)
		}
	case r.Harmful():
		a.X2 = to - dir*10
		a.Head = head(a.seg)
		p.sign(to, y, r.Class)
	default:
		a.Head = head(a.seg)
	}
	p.Arrows = append(p.Arrows, a)
}

// pairsOf joins the rows in which requests were sent with those in which they arrive, both ways.
func pairsOf(rows []story.Row) map[int]int {
	pairs, sent := make(map[int]int), make(map[string]int)
	for i, r := range rows {
		switch j, known := sent[r.Request]; {
		case r.Leg == story.Sent && r.Request != "":
			sent[r.Request] = i
		case r.Leg == story.Arrived && known:
			pairs[i], pairs[j] = j, i
		}
	}
	return pairs
}

// token writes the token on its arrow, between the first lane and the next, as far as there is room.
func (p *panel) token(r story.Row, from, dir, y int) {
	s := p.named("token", r.Token, p.rail-38)
	if s == "" {
		return
	}
	middle := p.rail/2 - 2
	if r.Stopped() || r.Harmful() {
		middle -= 5 // its cross or head stands farther from the lane
	}
	x, w := from+dir*middle, pixels(s, p.smallSize)+10
	p.Boxes = append(p.Boxes, box{x - w/2, y - 9, w, 18, "pill " + hue(r.Tenure)})
	p.Labels = append(p.Labels, label{x, y + 4, "token", story.Strong("%s", s)})
}

// mark writes the mark behind the storage's line where it changed, as far as there is room.
func (p *panel) mark(r story.Row, at, dir, y int) {
	room, class, gap := p.rail-12, "mark", 8
	if r.Harmful() {
		gap += 5 // the sign of harm stands there
	}
	if dir < 0 {
		class = "mark before"
		if at == p.first {
			room = p.first - p.left - 6
		}
	} else if at == p.x(len(p.lanes)-1) {
		room = p.after - 4
	}
	if s := p.named("mark", r.Mark, room-gap); s != "" {
		p.Labels = append(p.Labels, label{at + dir*gap, y - 4, class, story.Strong("%s", s)})
	}
}

// named is a number after its name, or alone where there is less room; "": there is none, or no number.
func (p *panel) named(name, number string, room int) string {
	for _, s := range []string{name + story.Tie + number, number} {
		if number != "" && pixels(s, p.smallSize) <= room {
			return s
		}
	}
	return ""
}

func (p *panel) dot(x, y int, class string) {
	p.Signs = append(p.Signs, sign{x, y, 5, class, ""})
}

// symbol is what stands in a lane: a disc, strokes, a letter.
type symbol struct {
	radius  int
	class   string
	letter  string
	strokes []stroke
}

// stroke is a piece of a path, and where it begins.
type stroke struct {
	x, y int
	path string
}

const ripple = "q2.5 -4 5 0t5 0"

// symbols are those of the keys that have one. Others have a dot.
var symbols = map[story.Key]symbol{
	story.KeyOver:    {8, "over", "", []stroke{{-3, -3, "l6 6m0 -6l-6 6"}}},
	story.KeyLost:    {8, "warn", "!", nil},
	story.KeyDoubt:   {8, "warn", "?", nil},
	story.KeyHarm:    {9, "harm", "!", nil},
	story.KeyNetwork: {8, "warn", "", []stroke{{-5, -1, ripple}, {-5, 4, ripple}}},
	story.KeyResult:  {0, "result", "", []stroke{{0, -7, "l7 7l-7 7l-7 -7z"}}},
}

func (p *panel) sign(x, y int, c story.Class) {
	s, known := symbols[c.Key]
	if !known {
		p.dot(x, y, c.Name)
		return
	}
	path := ""
	for _, k := range s.strokes {
		path += fmt.Sprintf("M%d %d%s", x+k.x, y+k.y, k.path)
	}
	p.Signs = append(p.Signs, sign{x, y, s.radius, s.class, path})
	if s.letter != "" {
		p.Labels = append(p.Labels, label{x, y + 4, s.class + "ed", story.Strong("%s", s.letter)})
	}
}

func cross(x, y, half int) string {
	return fmt.Sprintf("M%d %dl%d %dm0 %dl%d %d", x-half, y-half, 2*half, 2*half, -2*half, -2*half, 2*half)
}

func head(s seg) string {
	const length, half = 10.0, 5.5
	dx, dy := float64(s.X2-s.X1), float64(s.Y2-s.Y1)
	n := math.Hypot(dx, dy)
	dx, dy = dx/n, dy/n
	bx, by := float64(s.X2)-dx*length, float64(s.Y2)-dy*length
	return fmt.Sprintf("M%d %dL%.1f %.1fL%.1f %.1fz", s.X2, s.Y2, bx-dy*half, by+dx*half, bx+dy*half, by-dx*half)
}
