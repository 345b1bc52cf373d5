package terminal

import (
	"cmp"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/report/story"
)

// Columns of a line: the time, the lanes, the text, which stands below if there is no room beside the lanes.
const (
	timeCells = 7
	firstLane = timeCells + 1 // and of a text below
	wideLane  = 9
	tightLane = 5
	afterLane = 3
	leastText = 32
)

// grid places lanes in the columns of a line.
type grid struct {
	glyphs
	width   int   // of the whole line
	lane    int   // columns from lane to lane
	columns []int // of each lane; 0: it is not drawn, and texts tell of it
	text    int   // the first column of texts
	below   bool  // they stand below
}

func newGrid(width int, names []string, gl glyphs) grid {
	g := grid{glyphs: gl, width: width, lane: tightLane, columns: make([]int, len(names)), text: firstLane}
	gaps, room := max(len(names)-1, 0), width-firstLane-afterLane-leastText
	if g.below = room < gaps*tightLane; g.below {
		room = width - firstLane - wideLane/2 // for half of the last one's name
		gaps = min(gaps, room/tightLane)
	}
	if gaps > 0 {
		g.lane = max(min(room/gaps, laneFor(names)), tightLane)
	}
	for n, i := range keep(names, gaps+1) {
		g.columns[i] = firstLane + n*g.lane
	}
	if !g.below {
		g.text = firstLane + gaps*g.lane + afterLane
	}
	return g
}

// laneFor is how wide a lane is best: so that names stand beside one another.
func laneFor(names []string) int {
	widest := 0
	for _, name := range names[min(1, len(names)):] { // the first one has room on its left
		widest = max(widest, story.Cells(name))
	}
	return min(widest+1, wideLane)
}

// keep chooses n lanes: the storage before all others, these in their order.
func keep(names []string, n int) (places []int) {
	storage := slices.Index(names, history.LaneStorage)
	for i := range names {
		left := n - len(places)
		if i == storage || left > 1 || left == 1 && storage < i {
			places = append(places, i)
		}
	}
	return places
}

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

// bars is a line on which nothing happens. A bar beside a lane: it holds the lock, or believes so.
func (g grid) bars(time string, lanes []story.Lane) line {
	l := blanks(g.width)
	l.write(timeCells-story.Cells(time), time, dim)
	for i, lane := range lanes {
		column := g.columns[i]
		switch {
		case column == 0:
			continue
		case lane.State == story.Paused:
			l[column] = cell{g.signs[story.KeyPause], story.Fault}
		case lane.State == story.Running:
			l[column] = cell{g.glyphs.lane, dim}
		}
		switch {
		case lane.Tenure > 0:
			l[column+1] = cell{g.signs[story.KeyHold], hold}
		case lane.Believes:
			l[column+1] = cell{g.signs[story.KeyBelief], story.Fault}
		}
	}
	return l
}

func (g grid) step(r story.Row) line {
	l := g.bars(story.Clock(r.At), r.Lanes)
	from, to := g.column(r.Lanes, r.Lane), g.column(r.Lanes, r.To)
	if r.Class == story.ClassFold {
		for _, column := range g.columns {
			l[column].sign = g.signs[story.KeyWait]
		}
	}
	if from == 0 {
		return l
	}
	with := r.Class.Tone
	if to == 0 {
		if r.Class != story.ClassPause {
			l[from] = cell{g.sign(r.Class), with}
		}
		return l
	}
	if r.Lanes[story.Index(r.Lanes, r.Lane)].State == story.Running && r.Leg != story.Arrived {
		l[from] = cell{g.dot, with}
	}
	g.arrow(l, r, from, to)
	if r.Mark != "" {
		l[to] = cell{g.signs[story.KeyRise], with}
	}
	return l
}

// column is that of the lane of a name; 0: it is not drawn.
func (g grid) column(lanes []story.Lane, name string) int {
	if i := story.Index(lanes, name); i >= 0 {
		return g.columns[i]
	}
	return 0
}

// arrow draws from column a to column b: over lanes, but never over a pause.
func (g grid) arrow(l line, r story.Row, a, b int) {
	shaft, over := g.line, g.over
	switch {
	case r.Harmful():
		shaft, over = g.heavy, g.heavyOver
	case r.Leg != story.Whole:
		shaft = g.late
	}
	step, head := 1, g.right
	if b < a {
		step, head = -1, g.left
	}
	for c := a + step; c != b; c += step {
		sign, crosses := over[l[c].sign]
		switch {
		case l[c].sign == " ":
			l[c].sign = shaft
		case crosses:
			l[c].sign = sign
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

// headings writes the lanes' names over them: on one line, or by turns on the upper and the lower one.
func (g grid) headings(names []string) []line {
	var drawn []string
	for i, name := range names {
		if g.columns[i] > 0 {
			drawn = append(drawn, name)
		}
	}
	upper, lower := blanks(g.width), blanks(g.width)
	tooWide := func(name string) bool { return story.Cells(name) >= g.lane }
	turns := len(drawn) > 1 && slices.ContainsFunc(drawn[1:], tooWide)
	for n, name := range drawn {
		column, room, l := firstLane+n*g.lane, g.lane, upper
		if turns {
			room *= 2
			if n%2 == 1 {
				l = lower
			} else {
				lower[column] = cell{g.glyphs.lane, dim}
			}
		}
		end := column + room/2
		if n == 0 { // there is room on its left
			room = end + 1
		}
		name = g.fit(name, room-1)
		width := story.Cells(name)
		l.write(min(column-width/2, end-width), name, story.Bold)
	}
	if turns {
		return []line{upper, lower}
	}
	return []line{upper}
}

func (g grid) fit(name string, room int) string {
	first, _, _ := strings.Cut(name, " ")
	switch {
	case story.Cells(name) <= room:
		return name
	case story.Cells(first) <= room:
		return first
	}
	return story.Prefix(name, room-story.Cells(g.dots)) + g.dots
}

// Tones of what only a terminal draws.
const (
	dim  story.Tone = "dim"
	hold story.Tone = "hold"
)

// Colours that can be read on a dark background and on a light one. A theme's own yellow, and what terminals make
// of its colours where they are bold, cannot.
var (
	green  = lipgloss.ANSIColor(28)
	teal   = lipgloss.ANSIColor(30)
	purple = lipgloss.ANSIColor(127)
	red    = lipgloss.ANSIColor(160)
)

var inks = map[story.Tone]lipgloss.Style{
	story.Plain:  lipgloss.NewStyle(),
	story.Bold:   lipgloss.NewStyle().Bold(true),
	dim:          lipgloss.NewStyle().Faint(true),
	hold:         lipgloss.NewStyle().Foreground(green),
	story.Fault:  lipgloss.NewStyle().Foreground(purple),
	story.Good:   lipgloss.NewStyle().Foreground(green).Bold(true),
	story.Bad:    lipgloss.NewStyle().Foreground(red).Bold(true),
	story.Warn:   lipgloss.NewStyle().Foreground(purple).Bold(true),
	story.Shield: lipgloss.NewStyle().Foreground(teal).Bold(true),
}

func paint(tone story.Tone, s string) string { return inks[tone].Render(s) }

// glyphs are the signs of a picture in a terminal, each one cell wide but dots.
type glyphs struct {
	dot, lane               string
	line, heavy, late       string
	over, heavyOver         map[string]string // what is seen where a message goes over a sign; others stay
	left, right, stop, dots string
	signs                   map[story.Key]string
}

var unicodeGlyphs = glyphs{
	dot: "●", lane: "│",
	line: "─", heavy: "━", late: "╌",
	over:      map[string]string{"│": "┼", "┃": "╂"},
	heavyOver: map[string]string{"│": "┿", "┃": "╋"},
	left:      "◀", right: "▶", stop: "✗", dots: "…",
	signs: map[story.Key]string{
		story.KeyHold: "┃", story.KeyBelief: "╏", story.KeyPause: "▓", story.KeyWait: "┊", story.KeyRise: "▲",
		story.KeyOver: "✗", story.KeyLost: "!", story.KeyDoubt: "?", story.KeyResult: "◆",
		story.KeyNetwork: "≈", story.KeyHarm: "‼",
	},
}

var asciiGlyphs = glyphs{
	dot: "o", lane: "|",
	line: "-", heavy: "=", late: ".",
	over:      map[string]string{"|": "+", "H": "H"},
	heavyOver: map[string]string{"|": "+", "H": "H"},
	left:      "<", right: ">", stop: "X", dots: "...",
	signs: map[story.Key]string{
		story.KeyHold: "H", story.KeyBelief: "b", story.KeyPause: "#", story.KeyWait: ":", story.KeyRise: "^",
		story.KeyOver: "X", story.KeyLost: "!", story.KeyDoubt: "?", story.KeyResult: "*",
		story.KeyNetwork: "~", story.KeyHarm: "%",
	},
}

func (g glyphs) sign(c story.Class) string { return cmp.Or(g.signs[c.Key], g.dot) }

func (g glyphs) sample(k story.Key) string {
	switch k {
	case story.KeyMessage:
		return g.dot + g.line + g.right
	case story.KeyRefused:
		return g.dot + g.line + g.stop
	case story.KeyHarm:
		return g.heavy + g.right
	case story.KeyLate:
		return g.late + g.late + g.right
	case story.KeyFold:
		return g.signs[story.KeyWait] + g.dots
	}
	return g.signs[k]
}
