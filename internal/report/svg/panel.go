package svg

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/report/story"
)

type panel struct {
	shapes
	Layout
	run     history.Run
	outcome story.Outcome
	rows    []story.Row
	note    story.Text   // what was done to long numbers
	lanes   []story.Lane // at the end, so all there are; on a phone, those that there is room for
	others  []string     // the names of those that are left out
	titled  bool         // its title is written: it differs from that of the panel above
	pairs   map[int]int  // the row of a request that arrives, and where it was sent; and the other way round

	width int    // at least the layout's
	first int    // the first lane's line
	rail  int    // from lane to lane
	after int    // from the last lane to the text
	text  int    // where the text begins
	slots []slot // of the rows
}

func newPanel(d story.Drawing, l Layout) *panel {
	b := story.NewBuilder()
	rows := b.Add(d.Events, d.Outcome.Drawn())
	p := &panel{Layout: l, outcome: d.Outcome.Clean(), run: b.Run(), lanes: b.Lanes()}
	p.rows = tellAtOnce(story.Fold(rows, p.run.Fencing))
	if l.phone {
		p.lanes, p.others = choose(p.lanes, p.rows, l.room())
		for i, r := range p.rows {
			p.rows[i] = within(r, p.lanes)
		}
	}
	p.pairs = pairsOf(p.rows)
	p.spread()
	return p
}

// tellAtOnce has a client believe in its lock from the grant's row on, if it does in the next one.
func tellAtOnce(rows []story.Row) []story.Row {
	for i := range rows {
		n := story.Index(rows[i].Lanes, rows[i].To)
		if rows[i].Class != story.ClassGrant || n < 0 || i+1 == len(rows) {
			continue
		}
		rows[i].Lanes = slices.Clone(rows[i].Lanes)
		rows[i].Lanes[n].Believes = rows[i+1].Lanes[n].Believes
	}
	return rows
}

func (p *panel) place(y int) int {
	if p.titled {
		y = p.paragraph(p.margin, y+18, "title", story.Strong("%s", p.run.Title), fits(p.width-2*p.margin, p.titleSize), 24)
	} else {
		y += 2 * edge
	}
	name, about := story.Variant(p.run)
	y = p.paragraph(p.margin, y, "text", append(story.Strong("%s:", name), story.Say("%s", about)...), fits(p.width-2*p.margin, textSize), lineHeight)
	y = p.legend(y + 6)
	if len(p.others) > 0 {
		y = p.remark(y, story.Say("lanes left out: %s", strings.Join(p.others, ", ")))
	}
	if p.note != nil {
		y = p.remark(y, p.note)
	}
	top := p.headings(y, false)
	bottom := p.places(top)
	p.axis(top, bottom)
	p.drawLanes(top, bottom)
	for i, r := range p.rows {
		p.drawRow(i, r)
	}
	return p.verdict(bottom + edge)
}

// remark says in a paragraph what the picture leaves out, and returns where it ends.
func (p *panel) remark(y int, t story.Text) int {
	return p.paragraph(p.margin, y+4, "note", t, fits(p.width-2*p.margin, textSize), lineHeight) - 4
}

// paragraph writes lines from the baseline y on and returns the next baseline.
func (p *panel) paragraph(x, y int, class string, t story.Text, width, height int) int {
	for _, line := range t.Wrap(width) {
		p.Labels = append(p.Labels, label{x, y, class, joined(line)})
		y += height
	}
	return y
}

// joined merges neighbours of equal tone and puts in the spaces.
func joined(line story.Text) (out story.Text) {
	for i, w := range line {
		if i > 0 {
			out[len(out)-1].Text += " "
		}
		if n := len(out); n > 0 && out[n-1].Tone == w.Tone {
			out[n-1].Text += w.Text
			continue
		}
		out = append(out, w)
	}
	return out
}

// headings draws the lanes' names in boxes, in a tall picture again, and returns where the boxes end.
func (p *panel) headings(y int, again bool) int {
	const most = 3
	size, class, width, space := textSize, "head", p.rail-12, 6
	if p.tight() {
		size, class, width = p.tinySize, "head tiny", p.rail-4
	}
	if p.phone {
		width, space = p.rail-2, 0
	}
	if again {
		class += " again"
	}
	names, tallest := make([][]story.Text, len(p.lanes)), 1
	for i, l := range p.lanes {
		names[i] = story.Say("%s", l.Name).Wrap(fits(width-space, size))
		if len(names[i]) > most {
			names[i] = append(names[i][:most-1], story.Say("…"))
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
	if !p.phone {
		p.Labels = append(p.Labels, label{p.left - 6, y + height/2 + 4, "time", story.Say("seconds")})
	}
	return y + height
}

func (p *panel) verdict(y int) int {
	class := "v-other"
	if p.outcome.Tone() != story.Plain {
		class = "v-" + p.outcome.Name
	}
	banner := len(p.Boxes)
	p.Boxes = append(p.Boxes, box{p.margin, y, 0, 0, class})
	width := fits(p.width-2*p.margin-32, textSize)
	head := p.outcome.Headline(strings.ToUpper(p.outcome.Name), p.run.Control)
	base := p.paragraph(p.margin+edge, y+24, "verdict", head, fits(p.width-2*p.margin-2*edge, p.verdictSize), 20)
	for _, t := range p.outcome.Findings() {
		base = p.paragraph(p.margin+edge, base, "text", t, width, lineHeight)
	}
	p.Boxes[banner].H = base - y - 4
	return base
}

// stretch widens what goes over the whole picture, once its width is known.
func (p *panel) stretch(width int) {
	for i := range p.Bands {
		p.Bands[i].W = width - 2*p.Bands[i].X
	}
	for i := range p.Areas {
		p.Areas[i].W = width - 2*p.Areas[i].X
	}
	for i := range p.Boxes {
		if strings.HasPrefix(p.Boxes[i].Class, "v-") {
			p.Boxes[i].W = width - 2*p.margin
		}
	}
}

// choose returns the lanes that are drawn where there is room for so many, in order, and the names of others. The
// storage comes first, as it decides; then clients that something goes wrong with; then other clients. Of the lock
// service the bars tell, and the texts.
func choose(lanes []story.Lane, rows []story.Row, room int) (drawn []story.Lane, left []string) {
	troubled := make(map[string]bool)
	for _, r := range rows {
		if slices.Contains([]story.Tone{story.Bad, story.Fault, story.Shield}, r.Class.Tone) {
			troubled[r.Lane], troubled[r.To] = true, true
		}
	}
	rank := func(l story.Lane) int {
		switch {
		case l.Name == history.LaneStorage:
			return 0
		case l.Name == story.LaneService:
			return 3
		case troubled[l.Name]:
			return 1
		}
		return 2
	}
	byRank := slices.SortedStableFunc(slices.Values(lanes), func(a, b story.Lane) int { return cmp.Compare(rank(a), rank(b)) })
	keep := byRank[:min(room, len(lanes))]
	for _, l := range lanes {
		if story.Index(keep, l.Name) >= 0 {
			drawn = append(drawn, l)
		} else {
			left = append(left, l.Name)
		}
	}
	return drawn, left
}

// within is a row where only some lanes are drawn. Of a message from or to another one there is its end.
func within(r story.Row, drawn []story.Lane) story.Row {
	lanes := make([]story.Lane, 0, len(drawn))
	for _, l := range r.Lanes {
		if story.Index(drawn, l.Name) >= 0 {
			lanes = append(lanes, l)
		}
	}
	r.Lanes = lanes
	if story.Index(drawn, r.To) < 0 {
		r.To = ""
	}
	if story.Index(drawn, r.Lane) < 0 {
		r.Lane, r.To = r.To, ""
	}
	return r
}
