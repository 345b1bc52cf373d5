package laws

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/fencelab/fencelab/internal/foreign"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// wire are the laws that only HTTP can break.
var wire = []law{
	{"OnlyNumbersAreTokens", "What is no decimal number from 1 to 2^63-1 is refused as a token, with a status from 400 to 499, and changes nothing.", onlyNumbersAreTokens},
	{"SpellingIsNoWayIn", "A stale token stays stale however it is spelled.", spellingIsNoWayIn},
	{"NoScopeIsNoWayIn", "A stale request that names no scope is refused, or its key is the scope.", noScopeIsNoWayIn},
	{"HeaderNamesHaveNoCase", "A header is the same one however its name is spelled: Fencing-Token, fencing-token.", headerNamesHaveNoCase},
	{"TwoTokensAreNoWayIn", "A request with two tokens is refused, or both the check and the mark are of the higher one.", twoTokensAreNoWayIn},
	{"OtherWaysAreClosed", "No other method, path or header is a way around the fence.", otherWaysAreClosed},
	{"MarksAreNoKeys", "No key that a client can name is a mark.", marksAreNoKeys},
	{"HeadIsARead", "Where a HEAD is answered it is checked, and raises the mark, as a GET.", headIsARead},
	{"PartsAreReads", "So is every GET that asks for a part, or whether something has changed.", partsAreReads},
	{"ConnectionsKeepNothing", "What came before on a connection does not matter: no claim of it, and no body of a refused request.", connectionsKeepNothing},
	{"LateBodyIsNoWayIn", "Check and write are one step, also where a request's body comes long after its headers.", lateBodyIsNoWayIn},
	{"BatchIsFenced", "A stale batch is refused, and one without a token, and a batch raises the mark.", batchIsFenced},
}

// The names in the laws of HTTP.
const (
	lock = "lock"
	key  = "lock" // it is called as its lock, for protocols without scopes
)

func claim(t fence.Token) fence.Claim { return fence.Claim{Scope: lock, Token: t} }

// steps makes requests of one view, and stops at the first that does not come out as it must.
type steps struct {
	v1
	ctx context.Context
	err error
}

// beginWire has "kept" at the key, by token 35.
func (j *judge) beginWire(ctx context.Context) (*steps, error) {
	if j.speaks.Protocol != protocolV1 {
		return nil, fmt.Errorf("%w: it is about /v1, and the storage speaks %s", fencetest.ErrNotApplicable, j.speaks.Protocol)
	}
	begun, err := j.begin(ctx)
	if err != nil {
		return nil, err
	}
	s := &steps{v1: begun.(v1), ctx: ctx}
	s.write(35, "kept", nil)
	return s, s.err
}

func (s *steps) write(t fence.Token, value string, want error) {
	if s.err != nil {
		return
	}
	err := s.Write(s.ctx, claim(t), key, value)
	switch {
	case want == nil && err != nil:
		s.err = fmt.Errorf("a write with token %d: %w, want it admitted", t, err)
	case want != nil && err == nil:
		s.err = fmt.Errorf("a write with token %d was admitted, want it refused with 412", t)
	case !errors.Is(err, want):
		s.err = fmt.Errorf("a write with token %d: %w, want it refused with 412", t, err)
	}
}

// stays wants a value at the key, after what.
func (s *steps) stays(value, after string) {
	if s.err != nil {
		return
	}
	got, ok, err := s.Read(s.ctx, claim(0), key)
	switch {
	case err != nil:
		s.err = fmt.Errorf("a read after %s: %w", after, err)
	case !ok:
		s.err = fmt.Errorf("after %s the key is gone, want %q", after, value)
	case got != value:
		s.err = fmt.Errorf("after %s the key has %q, want %q", after, got, value)
	}
}

// refused makes a request and wants it refused.
func (s *steps) refused(e Exchange, what string) {
	if s.err != nil {
		return
	}
	a, err := s.client.ask(s.ctx, s.base, e)
	switch {
	case err != nil:
		s.err = fmt.Errorf("%s: %w, want it refused", what, err)
	case !a.Refused():
		s.err = fmt.Errorf("%s: the storage answered %v, want it refused with a status from 400 to 499", what, a)
	}
}

// done makes a request and wants it admitted.
func (s *steps) done(e Exchange, what string) {
	if s.err != nil {
		return
	}
	a, err := s.client.ask(s.ctx, s.base, e)
	switch {
	case err != nil:
		s.err = fmt.Errorf("%s: %w, want it admitted", what, err)
	case !a.OK():
		s.err = fmt.Errorf("%s: the storage answered %v, want it admitted with a status from 200 to 299", what, a)
	}
}

// token is a header as it is written.
func token(text string) string { return fencehttp.HeaderToken + ": " + text }

func (s *steps) scope() string { return fencehttp.HeaderScope + ": " + s.name(lock) }

func onlyNumbersAreTokens(ctx context.Context, j *judge) error {
	s, err := j.beginWire(ctx)
	if err != nil {
		return err
	}
	for _, text := range []string{
		"", "0", "-1", "-36", "abc", "36abc", "36.0", "36.5", "1e3", "0x24", "Infinity", "NaN", "true", "null", "36, 37", "36 37",
		"9223372036854775808", "18446744073709551615", "18446744073709551616", "18446744073709551652", strings.Repeat("9", 400),
	} {
		what := fmt.Sprintf("token %q", foreign.Shown(text))
		header := []string{s.scope(), token(text)}
		s.refused(Exchange{Method: http.MethodPut, Path: s.path(key), Header: header, Body: "garbage"}, "a write with "+what)
		s.refused(Exchange{Method: http.MethodDelete, Path: s.path(key), Header: header}, "a delete with "+what)
		s.stays("kept", "requests with "+what)
		if s.err == nil {
			s.write(35, "kept", nil)
			if s.err != nil {
				s.err = fmt.Errorf("after refused requests with %s: %w", what, s.err)
			}
		}
	}
	s.write(34, "stale", fence.ErrStale)
	return s.err
}

func spellingIsNoWayIn(ctx context.Context, j *judge) error {
	s, err := j.beginWire(ctx)
	if err != nil {
		return err
	}
	for _, text := range []string{"034", "00000000000000000000034", "+34", "3_4", "３４", "34.0", "34e0", "0x22", "0o42", "34L"} {
		what := fmt.Sprintf("token %q, where 35 has been seen", text)
		header := []string{s.scope(), token(text)}
		s.refused(Exchange{Method: http.MethodPut, Path: s.path(key), Header: header, Body: "stale"}, "a write with "+what)
		s.stays("kept", "a write with "+what)
	}
	return s.err
}

func headerNamesHaveNoCase(ctx context.Context, j *judge) error {
	s, err := j.beginWire(ctx)
	if err != nil {
		return err
	}
	spelled := []func(string) string{strings.ToLower, strings.ToUpper}
	for i, spell := range spelled {
		next := fence.Token(36 + 2*i)
		header := func(t fence.Token) []string {
			return []string{spell(fencehttp.HeaderScope) + ": " + s.name(lock), spell(fencehttp.HeaderToken) + ": " + t.String()}
		}
		what := "a request with " + spell(fencehttp.HeaderToken)
		s.refused(Exchange{Method: http.MethodPut, Path: s.path(key), Header: header(next - 2), Body: "stale"}, "a stale write with "+spell(fencehttp.HeaderToken))
		s.stays("kept", what)
		s.done(Exchange{Method: http.MethodGet, Path: s.path(key), Header: header(next)}, what)
		s.write(next-1, "stale", fence.ErrStale)
		s.done(Exchange{Method: http.MethodPut, Path: s.path(key), Header: header(next + 1), Body: "kept"}, what)
		s.write(next, "stale", fence.ErrStale)
		s.stays("kept", what)
	}
	return s.err
}

func twoTokensAreNoWayIn(ctx context.Context, j *judge) error {
	for _, method := range []string{http.MethodPut, http.MethodGet} {
		for _, two := range [][]string{{"34", "36"}, {"36", "34"}} {
			s, err := j.beginWire(ctx)
			if err != nil {
				return err
			}
			e := Exchange{Method: method, Path: s.path(key), Header: []string{s.scope(), token(two[0]), token(two[1])}}
			if method == http.MethodPut {
				e.Body = "kept"
			}
			a, err := s.client.ask(ctx, s.base, e)
			if err != nil {
				return fmt.Errorf("a request with two tokens: %w", err)
			}
			if a.OK() {
				s.write(35, "stale after a request with the tokens "+strings.Join(two, " and "), fence.ErrStale)
			} else {
				s.write(35, "kept", nil)
			}
			s.write(34, "stale", fence.ErrStale)
			if s.stays("kept", "a request with the tokens "+strings.Join(two, " and ")); s.err != nil {
				return s.err
			}
		}
	}
	return nil
}
