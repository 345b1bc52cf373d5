// Package chance judges trials of laws by subjects that are broken: what happens at once has no order, so a law may catch one
// by chance.
package chance

// more is how many trials there are after one that is not as expected.
const more = 20

// Catches is whether a law catches a subject, by trials that say so each. Where the first one is not as named says, a law that
// the subject names catches in a quarter of the further ones, and another law not in all.
func Catches(named bool, trial func() bool) bool {
	if trial() == named {
		return named
	}
	n := 0
	for range more {
		if trial() {
			n++
		}
	}
	if named {
		return n >= more/4
	}
	return n == more
}
