package terminal

import "github.com/fencelab/fencelab/internal/report/story"

// headingStart is the first column of a heading: the one after the times.
const headingStart = firstLane - 3

// headings writes the lanes' names over them: each on at most two lines where
// the lanes are wide enough, otherwise by turns on the upper and the lower line,
// with twice the room.
func (g grid) headings(lanes []story.Lane, printable func(string) string) []line {
	upper, lower := g.header(), g.header()
	upper.write(headingStart-5, "time", dim)
	names := make([]story.Text, g.lanes)
	turns, two := false, false
	for i := range names {
		names[i] = story.Say("%s", lanes[i].Name).Mapped(printable)
		lines := names[i].Wrap(g.lane - 1)
		two = two || len(lines) > 1
		turns = turns || len(lines) > 2 || broken(names[i], g.lane-1)
	}
	for i, name := range names {
		switch {
		case !turns:
			for j, part := range name.Wrap(g.lane - 1) {
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

// header is a blank line with room for the half of the last heading.
func (g grid) header() line {
	l := g.blank("")
	for range wideLane {
		l = append(l, cell{" ", story.Plain})
	}
	return l
}

// broken reports whether a word of a name is too long for a line.
func broken(name story.Text, width int) bool {
	for _, w := range name {
		if story.Cells(w.Text) > width {
			return true
		}
	}
	return false
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
