package fence

import "errors"

// Outcome is what is known, by its error, of a call that was made: on a store that
// is fenced, or on a lock. The zero Outcome is Unknown. A higher one is more certain.
//
//	Outcome    did it happen?                  what to do
//	Unknown    it did, it did not, or it may   ask, or do it again under the same token
//	           still                           and sequence number
//	CutOff     the tenure may be over; nobody  stop; what goes on is for the fence to
//	           on this side knows              refuse
//	Lost       no: the tenure is over          stop; take the lock again
//	Definite   no: it did not and will not;    what the error says
//	           with a nil error, yes
//
// The calls of this package, and of the packages below, and how they end:
//
//	call              error                                      Outcome
//	any               nil                                        Definite
//	Mark.Admit, Do    ErrStale, ErrNoToken, ErrInvalidToken,     Definite
//	                  ErrInvalidSequence, ErrInvalidMode,
//	                  ErrInvalidScope, ErrAhead
//	Do                ErrNoBound, ErrTooManyScopes, or that of   Definite
//	                  a context that was done before the turn
//	Do                ErrDuplicate: it was done before           Definite
//	Do                that of the operation                      what it says of itself
//	any, by network   timeout, or the connection broke           Unknown
//
// Package lock has the table of its calls.
type Outcome uint8

// The outcomes, the least certain one first.
const (
	Unknown Outcome = iota
	CutOff
	Lost
	Definite
)

// String returns "unknown", "cut off", "lost" or "definite".
func (o Outcome) String() string {
	switch o {
	case CutOff:
		return "cut off"
	case Lost:
		return "lost"
	case Definite:
		return "definite"
	}
	return "unknown"
}

// New returns an error with the given text that has this outcome. Each is another
// error, also where text and outcome are the same.
func (o Outcome) New(text string) error { return o.Wrap(errors.New(text)) }

// Wrap returns an error that has this outcome, whatever err says of itself. Its text is
// that of err, which it wraps. err is not nil.
func (o Outcome) Wrap(err error) error { return &outcomeError{err, o} }

type outcomeError struct {
	error
	outcome Outcome
}

func (e *outcomeError) Unwrap() error    { return e.error }
func (e *outcomeError) Outcome() Outcome { return e.outcome }

// OutcomeOf returns the outcome that err has: Definite where it is nil, what its
// method Outcome returns where it has one, and otherwise that of what it wraps. Where
// it wraps several, those count that say something, and of them the least certain
// one. An error that says nothing is Unknown.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return Definite
	}
	o, _ := outcomeOf(err)
	return o
}

// outcomeOf also reports whether err says its outcome.
func outcomeOf(err error) (least Outcome, says bool) {
	switch err := err.(type) {
	case interface{ Outcome() Outcome }:
		return err.Outcome(), true
	case interface{ Unwrap() error }:
		return outcomeOf(err.Unwrap())
	case interface{ Unwrap() []error }:
		for _, part := range err.Unwrap() {
			if o, ok := outcomeOf(part); ok && (!says || o < least) {
				least, says = o, true
			}
		}
	}
	return least, says
}
