package scenario

import (
	"maps"
	"slices"
	"strings"
)

// Hint says what was meant instead: the known word that is nearest, or else all
// of them. It goes behind an error's text.
func Hint(got string, known []string) string {
	best := Nearest(got, known)
	switch {
	case best != "":
		return ": did you mean " + best + "?"
	case len(known) == 0:
		return ""
	}
	return ": want " + either(known)
}

// Nearest is the known word that may have been meant; "" if none is near.
func Nearest(got string, known []string) string {
	size := len([]rune(got))
	best, least := "", min(size, 1+max(1, size/3)) // one letter in three may be wrong, but never all
	for _, word := range known {
		if d := distance(strings.ToLower(got), strings.ToLower(word)); d < least {
			best, least = word, d
		}
	}
	return best
}

// either joins words as in "a, b or c".
func either(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// distance is how many letters must be put in, left out, changed or exchanged
// with their neighbour to make b of a (Damerau and Levenshtein).
func distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	rows := make([][]int, len(from)+1)
	for i := range rows {
		rows[i] = make([]int, len(to)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(from); i++ {
		for j := 1; j <= len(to); j++ {
			change := 1
			if from[i-1] == to[j-1] {
				change = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && from[i-1] == to[j-2] && from[i-2] == to[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(from)][len(to)]
}

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
