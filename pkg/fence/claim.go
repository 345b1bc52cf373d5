package fence

import "fmt"

// Claim is what a request shows to be admitted: the token of its tenure, the
// lock (scope) that the token belongs to, how the tenure holds the lock, and,
// optionally, the request's place among the requests of that tenure.
type Claim struct {
	Scope    string // the lock's name; tokens of two locks are not comparable
	Token    Token  // 0: none
	Sequence int64  // from 1; 0: the request takes no part in the order within the tenure
	Mode     Mode   // of the tenure; a Shared claim has no Sequence
}

// CheckBound asks bound for the highest token that the issuer can have given out
// in c's scope, and refuses c with an *AheadError where its token is above. It
// returns ErrNoBound where bound returns an error.
func (c Claim) CheckBound(bound func(Claim) (Token, error)) error {
	highest, err := bound(c)
	if err != nil {
		return Definite.Wrap(fmt.Errorf("%w: %w", ErrNoBound, err))
	}
	if c.Token > highest {
		return &AheadError{Scope: c.Scope, Token: c.Token, Bound: highest}
	}
	return nil
}

// check refuses what is refused whatever the mark is.
func (c Claim) check() error {
	switch {
	case c.Token == 0:
		return ErrNoToken
	case !c.Token.Valid():
		return fmt.Errorf("%w: %d, want 1 or more", ErrInvalidToken, c.Token)
	case c.Sequence < 0:
		return fmt.Errorf("%w: %d, want 1 or more", ErrInvalidSequence, c.Sequence)
	case c.Mode > Shared:
		return fmt.Errorf("%w: %v, want %v or %v", ErrInvalidMode, c.Mode, Exclusive, Shared)
	case c.Mode == Shared && c.Sequence != 0:
		return fmt.Errorf("%w: %d in a shared claim, want none: holders that share a lock have no order", ErrInvalidSequence, c.Sequence)
	}
	return nil
}

// Mark is the high-water mark of a scope: the highest token admitted in each
// mode, and the highest sequence number done under the exclusive one. The zero
// Mark admits every token. A store keeps all of the mark beside the data for as
// long as the data could be written by an old holder: after a delete, a restart
// and a crash too.
type Mark struct {
	Token    Token // the highest of an exclusive claim; 0: none
	Sequence int64 // the highest that was done under Token
	// Shared is the highest token of a shared claim, if that is above Token, and
	// else 0: it would refuse nothing that Token does not refuse.
	Shared Token
}

// Highest is the highest token admitted, of either mode. Every exclusive claim
// below it is stale. A token up to it was issued; see Claim.CheckBound.
func (m Mark) Highest() Token { return max(m.Token, m.Shared) }

// Max is the mark that refuses what m or o refuses. So a mark comes to a floor,
// which is Mark{Token: floor}, and two copies of a scope's mark become one.
func (m Mark) Max(o Mark) Mark {
	shared := max(m.Shared, o.Shared)
	if o.Token > m.Token || o.Token == m.Token && o.Sequence > m.Sequence {
		m = o
	}
	m.Shared = 0
	if shared > m.Token {
		m.Shared = shared
	}
	return m
}

// Admit is the whole rule of fencing, as a pure function: it judges c against m
// and returns the mark to keep before the operation runs.
//
// An exclusive claim is stale if its token is below the highest token of either
// mode: a later holder has begun, to read or to write. A shared claim is stale if
// its token is below the highest exclusive one; other shared claims, older or
// newer, are of holders that hold the lock with it. What is stale is refused with
// a *StaleError. Any other claim is admitted, and raises the mark of its mode: an
// equal token is of the same tenure, a higher one begins another tenure.
//
// Within an exclusive tenure a sequence number below the highest done is stale as
// well, and an equal one is ErrDuplicate. A shared claim with a sequence number is
// refused with ErrInvalidSequence.
//
// The caller makes Admit, keeping the mark and the operation one step, keeps the
// mark also where the operation fails, and afterwards, where it succeeds, keeps
// Done(c). With an error the mark is as it was.
func (m Mark) Admit(c Claim) (Mark, error) {
	if err := c.check(); err != nil {
		return m, err
	}
	if c.Mode == Shared {
		if c.Token < m.Token {
			return m, &StaleError{Scope: c.Scope, Token: c.Token, Mark: m.Token}
		}
		return m.Max(Mark{Shared: c.Token}), nil
	}
	switch {
	case c.Token < m.Shared && m.Shared > m.Token:
		return m, &StaleError{Scope: c.Scope, Token: c.Token, Mark: m.Shared, MarkMode: Shared}
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
