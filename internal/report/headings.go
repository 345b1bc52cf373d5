package report

// headingStart is the first column of a heading: the one after the times.
const headingStart = firstLane - 3

// headings writes the lanes' names over them: each on at most two lines where
// the lanes are wide enough, otherwise by turns on the upper and the lower line,
// with twice the room.
func (g grid) headings(lanes []Lane, printable func(string) string) []line {
	upper, lower := g.header(), g.header()
	upper.write(headingStart-5, "time", dimInk)
	names := make([]Text, g.lanes)
	turns, two := false, false
	for i := range names {
		names[i] = say("%s", heading(lanes[i].Name)).mapped(printable)
		lines := names[i].wrap(g.lane - 1)
		two = two || len(lines) > 1
		turns = turns || len(lines) > 2 || broken(names[i], g.lane-1)
	}
	for i, name := range names {
		switch {
		case !turns:
			for j, part := range name.wrap(g.lane - 1) {
				g.center([]line{upper, lower}[j], i, part.String())
			}
		case i%2 == 0:
			g.center(upper, i, g.fit(name, i))
			lower[g.column(i)] = cell{g.glyphs.lane, dimInk}
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
		l = append(l, cell{" ", plainInk})
	}
	return l
}

// broken reports whether a word of a name is too long for a line.
func broken(name Text, width int) bool {
	for _, w := range name {
		if cells(w.Text) > width {
			return true
		}
	}
	return false
}

// fit shortens a name to the room that a lane's heading has by turns.
func (g grid) fit(name Text, lane int) string {
	room := 2*g.lane - 2
	if lane == 0 {
		room = g.lane + 3 // the times are in the way of its left half
	}
	switch s := name.String(); {
	case cells(s) <= room:
		return s
	case len(name) > 1 && cells(name[0].Text) <= room:
		return name[0].Text
	default:
		return prefix(s, room-cells(g.dots)) + g.dots
	}
}

func (g grid) center(l line, lane int, s string) {
	l.write(max(headingStart, g.column(lane)-cells(s)/2), s, strongInk)
}
