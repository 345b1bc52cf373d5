package story

import (
	"slices"
	"time"
)

// Class says what kind of step a row is.
type Class string

// The classes.
const (
	ClassGrant   Class = "grant"   // a tenure begins
	ClassQueue   Class = "queue"   // a client waits behind the holder
	ClassExpiry  Class = "expiry"  // a lease ran out, or was revoked
	ClassRelease Class = "release" // the holder let go
	ClassSend    Class = "send"    // a request that is not answered at once
	ClassAdmit   Class = "admit"   // the storage did as asked
	ClassRefuse  Class = "refuse"  // the storage refused, as it should
	ClassHarm    Class = "harm"    // what happened must not: it makes the verdict corrupted
	ClassBlock   Class = "block"   // or blocked: the holder was refused, or a free lock not granted
	ClassReply   Class = "reply"   // an answer that tells something new
	ClassFail    Class = "fail"    // a request failed, definitely
	ClassUnknown Class = "unknown" // a request may or may not have had its effect
	ClassLost    Class = "lost"    // a client was told, or found, that its tenure is over
	ClassPause   Class = "pause"
	ClassResume  Class = "resume"
	ClassKill    Class = "kill"
	ClassRestart Class = "restart"
	ClassNetwork Class = "network" // a fault of the network, or its end
	ClassFold    Class = "fold"    // many ordinary steps, told in one
	ClassFinal   Class = "final"   // what the storage holds at the end
	ClassNote    Class = "note"
	ClassError   Class = "error" // the run itself could not go on
)

// Tone is what a word, an arrow or a sign means for the reader; pictures choose its
// colour by it.
type Tone string

// The tones.
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

// The keys.
const (
	KeyHold    Key = "holds the lock"
	KeyPause   Key = "stopped"
	KeyMessage Key = "message"
	KeyRefused Key = "refused"
	KeyHarm    Key = "does harm"
	KeyOver    Key = "over"
	KeyLost    Key = "lost the lock"
	KeyDoubt   Key = "not known"
	KeyLate    Key = "long under way"
	KeyNetwork Key = "network"
	KeyRise    Key = "new mark"
	KeyResult  Key = "at the end"
	KeyWait    Key = "time goes by"
	KeyFold    Key = "steps left out"
)

// allKeys has them in the order of a legend.
var allKeys = []Key{
	KeyHold, KeyPause, KeyMessage, KeyRefused, KeyHarm, KeyOver, KeyLost, KeyDoubt,
	KeyLate, KeyNetwork, KeyRise, KeyResult, KeyWait, KeyFold,
}

// Look is how pictures show a class.
type Look struct {
	Tone    Tone // of its arrow, its sign and its strong words
	Key     Key  // its sign, in a lane without an arrow, and what a legend says of it; "": a dot, and nothing
	Carries bool // its arrow has the colour of the tenure whose token it carries
	common  bool // many such rows are told in one
}

var looks = map[Class]Look{
	ClassGrant:   {Tone: Good, Carries: true, common: true},
	ClassQueue:   {Tone: Bold, common: true},
	ClassExpiry:  {Tone: Bad, Key: KeyOver},
	ClassRelease: {Tone: Bold, common: true},
	ClassSend:    {Tone: Bold, Carries: true, common: true},
	ClassAdmit:   {Tone: Good, Carries: true, common: true},
	ClassRefuse:  {Tone: Shield, Key: KeyRefused},
	ClassHarm:    {Tone: Bad, Key: KeyHarm},
	ClassBlock:   {Tone: Bad, Key: KeyHarm},
	ClassReply:   {Tone: Bold, common: true},
	ClassFail:    {Tone: Fault, Key: KeyOver},
	ClassUnknown: {Tone: Fault, Key: KeyDoubt},
	ClassLost:    {Tone: Fault, Key: KeyLost},
	ClassPause:   {Tone: Fault},
	ClassResume:  {Tone: Fault},
	ClassKill:    {Tone: Bad, Key: KeyOver},
	ClassRestart: {Tone: Bold},
	ClassNetwork: {Tone: Fault, Key: KeyNetwork},
	ClassFold:    {Tone: Bold, Key: KeyFold},
	ClassFinal:   {Tone: Bold, Key: KeyResult},
	ClassNote:    {Tone: Bold},
	ClassError:   {Tone: Bad},
}

// Look is how pictures show c.
func (c Class) Look() Look { return looks[c] }

// Keys collects what a picture shows, so that its legend says no more.
type Keys map[Key]bool

// Add takes in a row, and the one above it.
func (k Keys) Add(above, r Row) {
	for _, l := range r.Lanes {
		k[KeyHold] = k[KeyHold] || l.Tenure > 0
		k[KeyPause] = k[KeyPause] || l.State == Paused
	}
	k[KeyWait] = k[KeyWait] || Waits(above, r)
	k[KeyLate] = k[KeyLate] || r.Leg != Whole
	k[KeyRise] = k[KeyRise] || r.Mark != "" && r.To != ""
	k[KeyMessage] = k[KeyMessage] || r.To != "" && !r.Stopped() && !r.Harmful()
	if key := r.Class.Look().Key; key != KeyOver || r.To == "" {
		k[key] = true
	}
}

// Without returns those that were added, in the order of a legend, without some.
func (k Keys) Without(some ...Key) []Key {
	return slices.DeleteFunc(slices.Clone(allKeys), func(key Key) bool { return !k[key] || slices.Contains(some, key) })
}

// longWait is the time between two rows from which on a picture shows that time
// passed: its rows are evenly spaced and would hide it.
const longWait = 500 * time.Millisecond

// Waits reports whether so much time passes between two rows that a picture is
// to show it.
func Waits(above, r Row) bool { return r.Start()-above.At >= longWait }
