package report

// legend explains what the picture shows, from y on, and returns where it ends.
func (p *panel) legend(y int) int {
	seen := keys{}
	for i, r := range p.rows {
		seen.see(p.before(i), r)
	}
	const sample, space = 30, 10
	x := p.margin
	list := seen.but(keyRise) // the mark itself is written there
	for _, k := range list {
		w := sample + pixels(string(k), smallSize) + space
		if x+w > p.width-p.margin && x > p.margin {
			x, y = p.margin, y+20
		}
		p.sample(k, x, y)
		p.Labels = append(p.Labels, label{x + sample, y + 4, "legend", solid(string(k))})
		x += w
	}
	if len(list) == 0 {
		return y
	}
	return y + 20
}

// sample draws what a key looks like: 24 pixels from x on, in the middle of y.
func (p *panel) sample(k key, x, y int) {
	shaft := func(class string, end int) {
		a := arrow{seg: seg{x, y, end, y, class}}
		a.Head = head(a.seg)
		p.Arrows = append(p.Arrows, a)
	}
	switch k {
	case keyHold:
		p.Bars = append(p.Bars, box{x + 9, y - 7, 6, 14, hue(1)})
	case keyPause:
		p.Bars = append(p.Bars, box{x + 5, y - 7, 14, 14, "pause"})
	case keyMessage:
		shaft(hue(1), x+24)
	case keyLate:
		shaft(hue(1)+" late", x+24)
	case keyRefused:
		p.Arrows = append(p.Arrows, arrow{seg: seg{x, y, x + 12, y, "refused"}, Cross: cross(x+12, y, 4)})
		p.Bars = append(p.Bars, box{x + 19, y - 8, 5, 16, "shield refused"})
	case keyHarm:
		p.sign(x+12, y, ClassHarm)
	case keyOver:
		p.sign(x+12, y, ClassExpiry)
	case keyLost:
		p.sign(x+12, y, ClassLost)
	case keyDoubt:
		p.sign(x+12, y, ClassUnknown)
	case keyNetwork:
		p.sign(x+12, y, ClassNetwork)
	case keyResult:
		p.sign(x+12, y, ClassFinal)
	case keyWait, keyFold:
		p.wave(x, y, 24)
		if k == keyFold {
			p.wave(x, y+4, 24)
		}
	}
}
