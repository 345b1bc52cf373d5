package story

import (
	"slices"
	"time"
)

// Tone is what a word, an arrow or a sign means for the reader; pictures choose its colour by it.
type Tone string

const (
	Plain  Tone = ""
	Bold   Tone = "bold"
	Good   Tone = "good"
	Bad    Tone = "bad"
	Warn   Tone = "warn"
	Fault  Tone = "fault"
	Shield Tone = "shield" // of the storage, before what it protects
)

// Key is something that a legend explains, by its meaning.
type Key string

const (
	KeyHold    Key = "holds the lock"
	KeyBelief  Key = "only believes so" // noted by those pictures that show it
	KeyPause   Key = "stopped"
	KeyMessage Key = "message"
	KeyRefused Key = "refused"
	KeyHarm    Key = "does harm"
	KeyOver    Key = "over"
	KeyLost    Key = "lost the lock"
	KeyDoubt   Key = "not known"
	KeyLate    Key = "long under way"
	KeyNetwork Key = "network"
	KeyRise    Key = "new mark: the highest token so far"
	KeyResult  Key = "at the end"
	KeyWait    Key = "time goes by"
	KeyFold    Key = "steps left out"
)

var allKeys = []Key{
	KeyHold, KeyBelief, KeyPause, KeyMessage, KeyRefused, KeyHarm, KeyOver, KeyLost, KeyDoubt,
	KeyLate, KeyNetwork, KeyRise, KeyResult, KeyWait, KeyFold,
}

// Class says what kind of step a row is, and how pictures show it.
type Class struct {
	Name    string
	Tone    Tone // of its arrow, its sign and its strong words
	Key     Key  // its sign, in a lane without an arrow, and what a legend says of it; "": a dot, and nothing
	Carries bool // its arrow has the colour of the tenure whose token it carries
	common  bool // many such rows are told in one
}

var (
	ClassGrant   = Class{Name: "grant", Tone: Good, Carries: true, common: true} // a tenure begins
	ClassQueue   = Class{Name: "queue", Tone: Bold, common: true}                // a client waits behind the holder
	ClassExpiry  = Class{Name: "expiry", Tone: Bad, Key: KeyOver}                // a lease ran out, or was revoked
	ClassRelease = Class{Name: "release", Tone: Bold, common: true}              // the holder let go
	ClassSend    = Class{Name: "send", Tone: Bold, Carries: true, common: true}  // a request that is not answered at once
	ClassAdmit   = Class{Name: "admit", Tone: Good, Carries: true, common: true} // the storage did as asked
	ClassRefuse  = Class{Name: "refuse", Tone: Shield, Key: KeyRefused}          // the storage refused, as it should
	ClassHarm    = Class{Name: "harm", Tone: Bad, Key: KeyHarm}                  // what happened must not: it makes the verdict corrupted
	ClassBlock   = Class{Name: "block", Tone: Bad, Key: KeyHarm}                 // or blocked: the holder was refused, or a free lock not granted
	ClassReply   = Class{Name: "reply", Tone: Bold, common: true}                // an answer that tells something new
	ClassFail    = Class{Name: "fail", Tone: Fault, Key: KeyOver}                // a request failed, definitely
	ClassUnknown = Class{Name: "unknown", Tone: Fault, Key: KeyDoubt}            // a request may or may not have had its effect
	ClassLost    = Class{Name: "lost", Tone: Fault, Key: KeyLost}                // a client was told, or found, that its tenure is over
	ClassPause   = Class{Name: "pause", Tone: Fault}
	ClassResume  = Class{Name: "resume", Tone: Fault}
	ClassKill    = Class{Name: "kill", Tone: Bad, Key: KeyOver}
	ClassRestart = Class{Name: "restart", Tone: Bold}
	ClassNetwork = Class{Name: "network", Tone: Fault, Key: KeyNetwork} // a fault of the network, or its end
	ClassFold    = Class{Name: "fold", Tone: Bold, Key: KeyFold}        // many ordinary steps, told in one
	ClassFinal   = Class{Name: "final", Tone: Bold, Key: KeyResult}     // what the storage holds at the end
	ClassNote    = Class{Name: "note", Tone: Bold}
	ClassError   = Class{Name: "error", Tone: Bad} // the run itself could not go on
)

// Keys collects what a picture shows, so that its legend says no more.
type Keys map[Key]bool

func (k Keys) Add(above, r Row) {
	for _, l := range r.Lanes {
		k[KeyHold] = k[KeyHold] || l.Tenure > 0
		k[KeyPause] = k[KeyPause] || l.State == Paused
	}
	k[KeyWait] = k[KeyWait] || Waits(above, r)
	k[KeyLate] = k[KeyLate] || r.Leg != Whole
	k[KeyRise] = k[KeyRise] || r.Mark != "" && r.To != ""
	k[KeyMessage] = k[KeyMessage] || r.To != "" && !r.Stopped() && !r.Harmful()
	if key := r.Class.Key; key != KeyOver || r.To == "" {
		k[key] = true
	}
}

// Shown returns those that were added, in the order of a legend, except some.
func (k Keys) Shown(except ...Key) []Key {
	return slices.DeleteFunc(slices.Clone(allKeys), func(key Key) bool { return !k[key] || slices.Contains(except, key) })
}

// Words are what a legend says of a key. Where nobody holds a lock by the lock service's account, holders have their
// own word alone.
func (k Keys) Words(key Key) string {
	if key == KeyBelief && !k[KeyHold] {
		return "holds the lock, by its own word"
	}
	return string(key)
}

// longWait is the time between two rows that a picture shows: its evenly spaced rows would hide it.
const longWait = 500 * time.Millisecond

// Waits reports whether so much time passes between two rows that a picture is to show it.
func Waits(above, r Row) bool { return r.Start()-above.At >= longWait }
