package fence

import "fmt"

// Why a claim is refused. Each refusal is definite: the operation did not
// happen and will not happen (see Outcome). Test for them with errors.Is.
var (
	// ErrStale: a later tenure, or a later request of this one, was admitted.
	ErrStale = Definite.New("fence: stale token")
	// ErrNoToken: the request carries none and the resource is fenced.
	ErrNoToken = Definite.New("fence: missing token")
	// ErrInvalidToken: what was given is no token.
	ErrInvalidToken = Definite.New("fence: invalid token")
	// ErrInvalidSequence: what was given is no sequence number, or a shared claim
	// has one.
	ErrInvalidSequence = Definite.New("fence: invalid sequence")
	// ErrInvalidMode: what was given is no mode.
	ErrInvalidMode = Definite.New("fence: invalid mode")
	// ErrInvalidScope: the scope that was named cannot be the right one.
	ErrInvalidScope = Definite.New("fence: invalid scope")
	// ErrAhead: the issuer cannot have given out so high a token.
	ErrAhead = Definite.New("fence: token ahead of its issuer")
)

// ErrNoBound: what the issuer has given out could not be found out (see
// Register.Bound). The operation did not happen; the claim may be made again.
var ErrNoBound = Definite.New("fence: the bound of the issuer is not known")

// ErrTooManyScopes: see Register.MaxScopes. The operation did not happen.
var ErrTooManyScopes = Definite.New("fence: no room for the mark of another scope")

// ErrDuplicate is no refusal: the request with this token and sequence number
// was admitted and done before, and was not done again.
var ErrDuplicate = Definite.New("fence: duplicate: this sequence number was done before")

// errNotRun: the context was done before the turn came.
var errNotRun = Definite.New("fence: the operation did not run")

// StaleError is the refusal of a claim that is older than the mark of its
// scope. It matches ErrStale.
type StaleError struct {
	Scope string
	Token Token // given
	Mark  Token // the mark that refused: the highest token admitted in MarkMode; 0: the store does not name it
	// MarkMode is Shared where an exclusive claim is older than a shared one. A
	// shared claim is always refused by an exclusive mark.
	MarkMode Mode
	// Sequence and MarkSequence are set where Token equals Mark: the claim is
	// of the current tenure, but a later request of it was done already.
	Sequence, MarkSequence int64
}

func (e *StaleError) Error() string {
	switch {
	case e.Mark == 0:
		return fmt.Sprintf("%v: %d in scope %q is older than the highest admitted", ErrStale, e.Token, e.Scope)
	case e.Token > e.Mark: // by a store that refuses what differs, and so breaks the rule
		return fmt.Sprintf("%v: %d in scope %q differs from the last admitted, %d", ErrStale, e.Token, e.Scope, e.Mark)
	case e.Token == e.Mark:
		return fmt.Sprintf("%v: sequence %d of token %d in scope %q is older than the highest done, %d",
			ErrStale, e.Sequence, e.Token, e.Scope, e.MarkSequence)
	}
	whose := ""
	if e.MarkMode == Shared {
		whose = ", of a shared claim"
	}
	return fmt.Sprintf("%v: %d in scope %q is older than the highest admitted, %d%s", ErrStale, e.Token, e.Scope, e.Mark, whose)
}

// Is makes errors.Is(err, ErrStale) true.
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// Outcome returns Definite.
func (e *StaleError) Outcome() Outcome { return Definite }

// AheadError is the refusal of a token that is higher than any that the issuer
// can have given out. It matches ErrAhead.
type AheadError struct {
	Scope string
	Token Token // given
	Bound Token // the highest that the issuer can have given out
}

func (e *AheadError) Error() string {
	return fmt.Sprintf("%v: %d in scope %q, and no token over %d has been issued", ErrAhead, e.Token, e.Scope, e.Bound)
}

// Is makes errors.Is(err, ErrAhead) true.
func (e *AheadError) Is(target error) bool { return target == ErrAhead }

// Outcome returns Definite.
func (e *AheadError) Outcome() Outcome { return Definite }
