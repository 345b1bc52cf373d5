package svg

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/pkg/fence"
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
	beside  bool         // it has others beside it, so that its caption says how it ends
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
	y = p.paragraph(p.margin, y, "text", p.caption(), fits(p.width-2*p.margin, textSize), lineHeight)
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

// caption says what the run is of, and beside others how it ends: "fenced is SAFE: the storage checks tokens".
func (p *panel) caption() story.Text {
	name, about := story.Variant(p.run)
	if !p.beside || p.outcome.Tone() == story.Plain {
		return append(story.Strong("%s:", name), story.Say("%s", about)...)
	}
	ends := story.Word{Text: strings.ToUpper(p.outcome.Name) + ":", Tone: p.outcome.Tone()}
	return slices.Concat(story.Strong("%s is", name), story.Text{ends}, story.Say("%s", about))
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

// short has the long tokens and marks of a picture, and what is written instead. All lose the same digits: those
// that all begin with, and those at the end that do not tell them apart. So the higher one still looks higher.
type short map[string]string

const (
	longNumber = 13 // digits; what has fewer is left alone
	fewDigits  = 4  // no number keeps fewer
)

func shortOf(panels []*panel) short {
	var long []string
	for _, p := range panels {
		for _, r := range p.rows {
			for _, t := range []fence.Token{r.Event.Token, r.Event.Mark} {
				if s := t.String(); t > 0 && len(s) >= longNumber {
					long = append(long, s)
				}
			}
		}
	}
	slices.Sort(long)
	return shorten(slices.Compact(long))
}

func shorten(long []string) short {
	if len(long) == 0 {
		return nil
	}
	least := len(slices.MinFunc(long, func(a, b string) int { return len(a) - len(b) }))
	begin := 0
	if most := len(slices.MaxFunc(long, func(a, b string) int { return len(a) - len(b) })); most == least && len(long) > 1 {
		begin = min(shared(long), least-fewDigits)
	}
	for end := least - begin - fewDigits; end > 0; end-- {
		if s := cut(long, begin, end); s.differ() {
			return s
		}
	}
	return cut(long, begin, 0)
}

func shared(long []string) int {
	n := 0
	for n < len(long[0]) && !slices.ContainsFunc(long, func(s string) bool { return !strings.HasPrefix(s, long[0][:n+1]) }) {
		n++
	}
	return n
}

func cut(long []string, begin, end int) short {
	s := make(short)
	for _, number := range long {
		s[number] = dots(begin) + number[begin:len(number)-end] + dots(end)
	}
	return s
}

func dots(digits int) string {
	if digits == 0 {
		return ""
	}
	return "…"
}

func (s short) differ() bool {
	return len(slices.Compact(slices.Sorted(maps.Values(s)))) == len(s)
}

var digits = regexp.MustCompile(`\d+`)

func (s short) write(text string) string {
	return digits.ReplaceAllStringFunc(text, func(number string) string {
		if n, is := s[number]; is {
			return n
		}
		return number
	})
}

// note says what was done to the numbers, by the lowest.
func (s short) note() story.Text {
	long, where := slices.Sorted(maps.Keys(s))[0], ""
	if len(s) > 1 {
		where = " at the same digit"
	}
	return story.Say("long numbers are cut%s: %s is %s", where, s[long], long)
}

func (s short) apply(p *panel) {
	for i := range p.rows {
		r := &p.rows[i]
		if s[r.Event.Token.String()] != "" || s[r.Event.Mark.String()] != "" {
			p.note = s.note()
		}
		r.Text, r.Token, r.Mark = r.Text.Mapped(s.write), s.write(r.Token), s.write(r.Mark)
	}
	p.outcome = p.outcome.Mapped(s.write)
}
