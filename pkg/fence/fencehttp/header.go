// Package fencehttp carries fencing claims over HTTP: as request headers, as
// RFC 9457 problem documents for refusals, as a Middleware that checks tokens in
// front of any handler, and as a client Transport that shows the claim of a request's
// context, and turns a refusal back into the error that the server's register returned.
package fencehttp

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fencelab/fencelab/pkg/fence"
)

// The request headers of a claim.
const (
	HeaderToken    = "Fencing-Token"    // decimal, 1 to 2^63-1
	HeaderScope    = "Fencing-Scope"    // the lock's name; where it is absent the server has a default
	HeaderSequence = "Fencing-Sequence" // decimal, optional
	HeaderMode     = "Fencing-Mode"     // "shared"; where it is absent the claim is exclusive

	// HeaderDuplicate is a response header, "true" where the request had been
	// done before and was not done again.
	HeaderDuplicate = "Fencing-Duplicate"
)

// The response headers of a refusal. They repeat what the answer to a HEAD
// request, which has no body, could not tell; HeaderToken is there too, and is
// the token that was given.
const (
	HeaderRefused = "Fencing-Refused" // the Reason
	HeaderField   = "Fencing-Field"   // where that is invalid: see Problem.Field
	HeaderMark    = "Fencing-Mark"    // where it is stale: the highest token admitted
	HeaderBound   = "Fencing-Bound"   // where it is ahead: the highest that can have been issued
)

// MaxScope is the longest scope that a request may name, in bytes.
const MaxScope = 1024

// ParseClaim reads the claim of a request. Without a Fencing-Token header the
// claim's Token is 0, which fence.Mark.Admit refuses as missing; scope is the
// default where no Fencing-Scope is given, and is not checked. Errors wrap
// fence.ErrInvalidToken, fence.ErrInvalidSequence, fence.ErrInvalidMode or
// fence.ErrInvalidScope. A header that is given twice is invalid: two readers could disagree about which
// one counts. So is a scope that does not come through headers, logs and JSON
// unchanged: one over MaxScope, that is not UTF-8, has control characters, or
// begins or ends with white space.
func ParseClaim(h http.Header, scope string) (fence.Claim, error) {
	c := fence.Claim{Scope: scope}
	err := read(h, HeaderToken, &c.Token, fence.ParseToken, fence.ErrInvalidToken)
	if err == nil {
		err = read(h, HeaderScope, &c.Scope, parseScope, fence.ErrInvalidScope)
	}
	if err == nil {
		err = read(h, HeaderSequence, &c.Sequence, fence.ParseSequence, fence.ErrInvalidSequence)
	}
	if err == nil {
		err = read(h, HeaderMode, &c.Mode, fence.ParseMode, fence.ErrInvalidMode)
	}
	return c, err
}

// read reads a header into a field, which stays as it is where the header is not given. The error of a header that is
// given twice wraps invalid.
func read[T any](h http.Header, name string, field *T, parse func(string) (T, error), invalid error) error {
	switch given := h[name]; len(given) {
	case 0:
		return nil
	case 1:
		value, err := parse(given[0])
		if err != nil {
			return headerError(name, err)
		}
		*field = value
		return nil
	default:
		return headerError(name, fmt.Errorf("%w: given %d times", invalid, len(given)))
	}
}

func parseScope(s string) (string, error) {
	if fault := scopeFault(s); fault != "" {
		return "", fmt.Errorf("%w: it %s", fence.ErrInvalidScope, fault)
	}
	return s, nil
}

// scopeFault says what is wrong with a scope; empty where nothing is.
func scopeFault(s string) string {
	switch {
	case s == "":
		return "is empty, want the lock's name"
	case len(s) > MaxScope:
		return fmt.Sprintf("has %d bytes, want at most %d", len(s), MaxScope)
	}
	for i, r := range s {
		switch {
		case unicode.IsControl(r):
			return "has a control character"
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			return "is not UTF-8"
		}
	}
	if len(strings.TrimSpace(s)) != len(s) {
		return "begins or ends with white space"
	}
	return ""
}

func headerError(header string, err error) error { return fmt.Errorf("header %s: %w", header, err) }

// SetClaim puts a claim into the headers of a request. What c leaves empty is
// not sent. Nothing is checked: the server refuses a bad scope. One with white space
// around it cannot be sent at all, because net/http trims it, and the server would see
// another lock's name; Transport refuses it.
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
	if c.Mode != fence.Exclusive {
		h.Set(HeaderMode, c.Mode.String())
	}
}
