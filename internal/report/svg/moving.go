package svg

import (
	"fmt"
	"html/template"
	"strings"
)

// Moving is a form that shows all rows at first, and then has them come one after the other, again and again. Who wants
// no motion sees all of them.
func (l Layout) Moving() Layout {
	l.moving = true
	return l
}

// Seconds of a moving picture.
const (
	eachRow  = .8
	atTheEnd = 6.0
)

// covers lie over the rows and the verdicts until it is their turn. What is below can be seen through them.
func (s Scene) covers() (list []box) {
	for _, p := range s.Panels {
		cover := func(top, bottom int) {
			list = append(list, box{p.margin / 2, top, s.Width - p.margin, bottom - top, ""})
		}
		end := p.slots[0].top // of the rows so far
		for _, slot := range p.slots {
			cover(end, slot.top+slot.height) // with the time before it that is left out
			end = slot.top + slot.height
		}
		for _, b := range p.Boxes {
			if strings.HasPrefix(b.Class, "v-") {
				cover(end, b.Y+b.H+2)
			}
		}
	}
	for i := range list {
		list[i].Class = fmt.Sprintf("tear cover cover%d", i)
	}
	return list
}

// motion has so many covers go away one after the other. It begins where all of them are gone, so that nobody waits for
// the point of the story.
func motion(covers int) template.CSS {
	told := float64(covers) * eachRow
	all := told + atTheEnd
	var b strings.Builder
	b.WriteString(".cover { opacity: 0 }\n@media (prefers-reduced-motion: no-preference) {\n")
	for i := range covers {
		gone := 100 * (float64(i) + .5) * eachRow / all
		fmt.Fprintf(&b, "@keyframes cover%d { 0%%, %.2f%% { opacity: .85 } %.2f%%, 100%% { opacity: 0 } }\n", i, gone, gone+1)
		fmt.Fprintf(&b, ".cover%d { animation: cover%[1]d %.1fs -%.1fs infinite }\n", i, all, told)
	}
	b.WriteString("}\n")
	return template.CSS(b.String())
}
