package svg

import (
	"github.com/fencelab/fencelab/internal/report/story"
)

// legend explains what the picture shows, from y on, and returns where it ends.
func (p *panel) legend(y int) int {
	seen := story.Keys{}
	for i, r := range p.rows {
		seen.Add(p.before(i), r)
		for _, l := range r.Lanes {
			seen[story.KeyBelief] = seen[story.KeyBelief] || l.Believes
		}
	}
	const sample, space = 30, 10
	x := p.margin
	list := seen.Shown(story.KeyRise) // the mark itself is written there
	for _, k := range list {
		words := seen.Words(k)
		if k == story.KeyBelief && seen[story.KeyHold] {
			words = "believes so" // the bar beside is there all the while
		}
		w := sample + pixels(words, p.smallSize) + space
		if x+w > p.width-p.margin && x > p.margin {
			x, y = p.margin, y+20
		}
		p.sample(k, x, y)
		p.Labels = append(p.Labels, label{x + sample, y + 4, "legend", story.Solid(words)})
		x += w
	}
	if len(list) == 0 {
		return y
	}
	return y + 20
}

// sample draws what a key looks like: 24 pixels from x on, in the middle of y.
func (p *panel) sample(k story.Key, x, y int) {
	shaft := func(class string, end int) {
		a := arrow{seg: seg{x, y, end, y, class}}
		a.Head = head(a.seg)
		p.Arrows = append(p.Arrows, a)
	}
	switch k {
	case story.KeyHold:
		p.Bars = append(p.Bars, box{x + 9, y - 7, 6, 14, hue(1)})
	case story.KeyBelief:
		p.Bars = append(p.Bars, box{x + 9, y - 7, 5, 14, "belief " + hue(1)})
	case story.KeyPause:
		p.Bars = append(p.Bars, box{x + 5, y - 7, 14, 14, "pause"})
	case story.KeyMessage:
		shaft(hue(1), x+24)
	case story.KeyLate:
		shaft(hue(1)+" late", x+24)
	case story.KeyRefused:
		p.Arrows = append(p.Arrows, arrow{seg: seg{x, y, x + 12, y, "refused"}, Cross: cross(x+12, y, 4)})
		p.Bars = append(p.Bars, box{x + 19, y - 8, 5, 16, "shield refused"})
	case story.KeyWait:
		p.wave(x, y, 24)
	case story.KeyFold:
		p.wave(x, y, 24)
		p.wave(x, y+4, 24)
	default:
		p.sign(x+12, y, story.Class{Key: k})
	}
}
