package fence

import (
	"fmt"
	"strconv"
)

// Token is a fencing token: a number that a lock service hands out with each
// grant and that grows from grant to grant of one lock. With etcd it is the
// create revision of the holder's key.
//
// Valid tokens are 1 to 2^63-1. The zero Token means that there is none.
//
// Source: Martin Kleppmann, "How to do distributed locking" (2016); Mike
// Burrows, "The Chubby lock service" (2006), section 2.4, sequencers.
type Token int64

// String returns the token in decimal.
func (t Token) String() string { return strconv.FormatInt(int64(t), 10) }

// Valid reports whether t is a token at all, that is, 1 or more.
func (t Token) Valid() bool { return t > 0 }

// ParseToken reads a token as it goes over the wire: decimal digits only,
// without sign, space or leading zero, from 1 to 2^63-1, so that each token has
// one spelling. It never goes through a float, which would confuse neighbours
// above 2^53. The error wraps ErrInvalidToken.
func ParseToken(s string) (Token, error) {
	n, err := parsePositive(s)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrInvalidToken, err)
	}
	return Token(n), nil
}

// ParseSequence reads a sequence number by the same rules as ParseToken. The
// error wraps ErrInvalidSequence.
func ParseSequence(s string) (int64, error) {
	n, err := parsePositive(s)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrInvalidSequence, err)
	}
	return n, nil
}

// maxQuoted is how much of a bad number an error repeats: a little more than
// the longest good one.
const maxQuoted = 32

func parsePositive(s string) (int64, error) {
	quoted := s
	if len(quoted) > maxQuoted {
		quoted = quoted[:maxQuoted] + "…"
	}
	if s == "" {
		return 0, fmt.Errorf("it is empty, want a decimal number from 1 to %d", int64(maxNumber))
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, fmt.Errorf("%q is not decimal digits only", quoted)
		}
	}
	if s[0] == '0' {
		return 0, fmt.Errorf("%q begins with 0, want a decimal number from 1 to %d", quoted, int64(maxNumber))
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is over %d", quoted, int64(maxNumber))
	}
	return n, nil
}

const maxNumber = 1<<63 - 1
