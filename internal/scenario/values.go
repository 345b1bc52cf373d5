package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fencelab/fencelab/internal/history"
)

// values are what a key can hold, by the steps of a story, whatever comes of each of them.
type values struct {
	texts   map[string]bool // that are written
	counted int             // how often it is incremented
}

// Writes notes that the keys of changes can come to hold their values.
func (s *Story) Writes(changes ...history.Change) {
	for _, c := range changes {
		s.valuesOf(c.Key).texts[c.Value] = true
	}
}

// Increments notes that a key can be incremented so often.
func (s *Story) Increments(key string, times int) { s.valuesOf(key).counted += times }

func (s *Story) valuesOf(key string) *values {
	s.Written[key] = true
	v := s.held[key]
	if v == nil {
		v = &values{texts: make(map[string]bool)}
		s.held[key] = v
	}
	return v
}

// cannotHold says why a key never holds a value, "" if it can. A program of the user's may
// write anything.
func (s *Story) cannotHold(key, value string) string {
	theirs := s.Variant.World.Storage.Command != ""
	for _, c := range s.Variant.Clients {
		theirs = theirs || c.Command.Words != nil
	}
	v := s.valuesOf(key)
	if theirs || v.texts[value] || v.counts(value) {
		return ""
	}
	switch known := slices.Sorted(maps.Keys(v.texts)); {
	case v.counted > 0:
		return fmt.Sprintf("%q cannot hold %q: a count leaves a whole number there, up to %d", key, value, v.most())
	case len(known) == 0:
		return fmt.Sprintf("%q cannot hold %q: no step that is finished writes a value there", key, value)
	default:
		quoted := make([]string, min(len(known), 5))
		for i := range quoted {
			quoted[i] = strconv.Quote(known[i])
		}
		return fmt.Sprintf("%q cannot hold %q: steps write %s there", key, value, strings.Join(quoted, ", "))
	}
}

func (v *values) counts(value string) bool {
	n, err := strconv.Atoi(value)
	return v.counted > 0 && err == nil && strconv.Itoa(n) == value && n <= v.most() && n > v.least()
}

// most is the highest number that a count can leave, and least is below each that it can.
func (v *values) most() int { return v.counted + slices.Max(append(v.numbers(), 0)) }

func (v *values) least() int { return slices.Min(append(v.numbers(), 0)) }

// numbers are those from which a count can begin, beside 0.
func (v *values) numbers() (list []int) {
	for text := range v.texts {
		if n, err := strconv.Atoi(text); err == nil {
			list = append(list, n)
		}
	}
	return list
}

// Changed are the values that a step gives to keys; a delete gives none.
func (s Step) Changed() []history.Change {
	if s.Key != "" && s.Form.gives() {
		return []history.Change{{Key: s.Key, Value: s.Value}}
	}
	return s.Changes
}
