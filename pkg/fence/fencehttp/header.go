// Package fencehttp carries fencing claims over HTTP: as request headers, as
// RFC 9457 problem documents for refusals, as a Middleware that checks tokens in
// front of any handler, and as a client Transport that turns a refusal back into
// the error that the server's register returned.
package fencehttp

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/fencelab/fencelab/pkg/fence"
)

// The request headers of a claim.
const (
	HeaderToken    = "Fencing-Token"    // decimal, 1 to 2^63-1
	HeaderScope    = "Fencing-Scope"    // the lock's name; where it is absent the server has a default
	HeaderSequence = "Fencing-Sequence" // decimal, optional

	// HeaderDuplicate is a response header, "true" where the request had been
	// done before and was not done again.
	HeaderDuplicate = "Fencing-Duplicate"
)

// ParseClaim reads the claim of a request. Without a Fencing-Token header the
// claim's Token is 0, which fence.Mark.Admit refuses as missing; scope is the
// default where no Fencing-Scope is given. Errors wrap fence.ErrInvalidToken,
// fence.ErrInvalidSequence or fence.ErrInvalidScope. A header that is given twice is
// invalid: two readers could disagree about which one counts.
func ParseClaim(h http.Header, scope string) (fence.Claim, error) {
	c := fence.Claim{Scope: scope}
	switch v := h[HeaderToken]; len(v) {
	case 0:
	case 1:
		t, err := fence.ParseToken(v[0])
		if err != nil {
			return c, headerError(HeaderToken, err)
		}
		c.Token = t
	default:
		return c, headerError(HeaderToken, fmt.Errorf("%w: given %d times", fence.ErrInvalidToken, len(v)))
	}
	switch v := h[HeaderScope]; {
	case len(v) == 0:
	case len(v) > 1:
		return c, headerError(HeaderScope, fmt.Errorf("%w: given %d times", fence.ErrInvalidScope, len(v)))
	case v[0] == "":
		return c, headerError(HeaderScope, fmt.Errorf("%w: it is empty, want the lock's name", fence.ErrInvalidScope))
	default:
		c.Scope = v[0]
	}
	switch v := h[HeaderSequence]; len(v) {
	case 0:
	case 1:
		n, err := fence.ParseSequence(v[0])
		if err != nil {
			return c, headerError(HeaderSequence, err)
		}
		c.Sequence = n
	default:
		return c, headerError(HeaderSequence, fmt.Errorf("%w: given %d times", fence.ErrInvalidSequence, len(v)))
	}
	return c, nil
}

func headerError(header string, err error) error { return fmt.Errorf("header %s: %w", header, err) }

// SetClaim puts a claim into the headers of a request. What c leaves empty is
// not sent.
func SetClaim(h http.Header, c fence.Claim) {
	if c.Token != 0 {
		h.Set(HeaderToken, c.Token.String())
	}
	if c.Scope != "" {
		h.Set(HeaderScope, c.Scope)
	}
	if c.Sequence != 0 {
		h.Set(HeaderSequence, strconv.FormatInt(c.Sequence, 10))
	}
}
