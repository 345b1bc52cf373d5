package report

import "slices"

// key names something that a legend explains.
type key string

// The keys, in the order in which a legend has them, with their meanings.
const (
	keyHold    key = "holds the lock"
	keyPause   key = "stopped"
	keyMessage key = "message"
	keyRefused key = "refused"
	keyHarm    key = "does harm"
	keyOver    key = "over"
	keyLost    key = "lost the lock"
	keyDoubt   key = "not known"
	keyLate    key = "long under way"
	keyNetwork key = "network"
	keyRise    key = "new mark"
	keyResult  key = "at the end"
	keyWait    key = "time goes by"
	keyFold    key = "steps left out"
)

var allKeys = []key{
	keyHold, keyPause, keyMessage, keyRefused, keyHarm, keyOver, keyLost, keyDoubt,
	keyLate, keyNetwork, keyRise, keyResult, keyWait, keyFold,
}

// keys collects what a picture shows, so that its legend says no more.
type keys map[key]bool

// see takes in a row, and the one above it.
func (k keys) see(above, r Row) {
	for _, l := range r.Lanes {
		k[keyHold] = k[keyHold] || l.Tenure > 0
		k[keyPause] = k[keyPause] || l.State == Paused
	}
	k[keyWait] = k[keyWait] || waits(above, r)
	k[keyLate] = k[keyLate] || r.Leg != Whole
	k[keyRise] = k[keyRise] || r.Mark != "" && r.To != ""
	switch r.Class {
	case ClassRefuse:
		k[keyRefused] = true
	case ClassHarm, ClassBlock:
		k[keyHarm] = true
	case ClassExpiry, ClassKill:
		k[keyOver] = true
	case ClassFail:
		k[keyOver] = k[keyOver] || r.To == ""
	case ClassLost:
		k[keyLost] = true
	case ClassUnknown:
		k[keyDoubt] = true
	case ClassNetwork:
		k[keyNetwork] = true
	case ClassFinal:
		k[keyResult] = true
	case ClassFold:
		k[keyFold] = true
	}
	if r.To != "" && !r.stopped() && !r.harmful() {
		k[keyMessage] = true
	}
}

// waits reports whether so much time passes between two rows that a picture is
// to show it.
func waits(above, r Row) bool { return r.from()-above.At >= longWait }

// but returns those that were seen, without some.
func (k keys) but(some ...key) (out []key) {
	for _, key := range allKeys {
		if k[key] && !slices.Contains(some, key) {
			out = append(out, key)
		}
	}
	return out
}
