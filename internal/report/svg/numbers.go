package svg

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/pkg/fence"
)

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
