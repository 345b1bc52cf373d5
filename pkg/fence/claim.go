package fence

import "fmt"

// Claim is what a request shows to be admitted: the token of its tenure, the
// lock (scope) that the token belongs to, and, optionally, its place among the
// requests of that tenure.
type Claim struct {
	Scope    string // the lock's name; tokens of two locks are not comparable
	Token    Token  // 0: none
	Sequence int64  // from 1; 0: the request takes no part in the order within the tenure
}

// CheckBound asks bound for the highest token that the issuer can have given out
// in c's scope, and refuses c with an *AheadError where its token is above. It
// returns ErrNoBound where bound returns an error.
func (c Claim) CheckBound(bound func(Claim) (Token, error)) error {
	highest, err := bound(c)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoBound, err)
	}
	if c.Token > highest {
		return &AheadError{Scope: c.Scope, Token: c.Token, Bound: highest}
	}
	return nil
}

// Mark is the high-water mark of a scope: the highest token admitted, and the
// highest sequence number done under that token. The zero Mark admits every
// token. A store keeps the mark beside the data for as long as the data could
// be written by an old holder: after a delete, a restart and a crash too.
type Mark struct {
	Token    Token
	Sequence int64
}

// Admit is the whole rule of fencing, as a pure function: it judges c against m
// and returns the mark to keep before the operation runs. A token below m's is
// refused with a *StaleError, an equal one is of the same tenure and admitted, a
// higher one begins the next tenure. Within a tenure a sequence number below the
// highest done is stale as well, and an equal one is ErrDuplicate.
//
// The caller makes Admit, keeping the mark and the operation one step, keeps the
// mark also where the operation fails, and afterwards, where it succeeds, keeps
// Done(c). With an error the mark is as it was.
func (m Mark) Admit(c Claim) (Mark, error) {
	switch {
	case c.Token == 0:
		return m, ErrNoToken
	case !c.Token.Valid():
		return m, fmt.Errorf("%w: %d, want 1 or more", ErrInvalidToken, c.Token)
	case c.Sequence < 0:
		return m, fmt.Errorf("%w: %d, want 1 or more", ErrInvalidSequence, c.Sequence)
	case c.Token < m.Token:
		return m, &StaleError{Scope: c.Scope, Token: c.Token, Mark: m.Token}
	case c.Token > m.Token:
		return Mark{Token: c.Token}, nil
	case c.Sequence == 0 || c.Sequence > m.Sequence:
		return m, nil
	case c.Sequence == m.Sequence:
		return m, ErrDuplicate
	default:
		return m, &StaleError{Scope: c.Scope, Token: c.Token, Mark: m.Token, Sequence: c.Sequence, MarkSequence: m.Sequence}
	}
}

// Done is the mark after c's operation succeeded: its sequence number counts
// only then, so that the retry of an operation that failed is no duplicate.
func (m Mark) Done(c Claim) Mark {
	m.Sequence = max(m.Sequence, c.Sequence)
	return m
}
