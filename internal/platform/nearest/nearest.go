// Package nearest finds the word that a mistyped one may have been meant as.
package nearest

import "strings"

// Word is the known word that may have been meant; "" if none is near.
func Word(got string, known []string) string {
	size := len([]rune(got))
	best, least := "", min(size, 1+max(1, size/3)) // one letter in three may be wrong, but never all
	for _, word := range known {
		if d := distance(strings.ToLower(got), strings.ToLower(word)); d < least {
			best, least = word, d
		}
	}
	return best
}

// distance is how many letters differ, or are exchanged with a neighbour (Damerau and Levenshtein).
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
