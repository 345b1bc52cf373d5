package laws

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/fencelab/fencelab/internal/outside/program"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// wire are the laws that only HTTP can break. Each begins with "kept" at the key, by token 35.
var wire = []Law{
	{"OnlyNumbersAreTokens", "What is no decimal number from 1 to 2^63-1 is refused as a token, with a status from 400 to 499, and changes nothing.", onWire(onlyNumbersAreTokens)},
	{"SpellingIsNoWayIn", "A stale token stays stale however it is spelled.", onWire(spellingIsNoWayIn)},
	{"NoScopeIsNoWayIn", "A stale request that names no scope is refused, or its key is the scope.", onWire(noScopeIsNoWayIn)},
	{"HeaderNamesHaveNoCase", "A header is the same one however its name is spelled: Fencing-Token, fencing-token.", onWire(headerNamesHaveNoCase)},
	{"TwoTokensAreNoWayIn", "A request with two tokens is refused, or both the check and the mark are of the higher one.", onWire(twoTokensAreNoWayIn)},
	{"OtherWaysAreClosed", "No other method, path or header is a way around the fence.", onWire(otherWaysAreClosed)},
	{"MarksAreNoKeys", "No key that a client can name is a mark.", onWire(marksAreNoKeys)},
	{"HeadIsARead", "Where a HEAD is answered it is checked, and raises the mark, as a GET.", onWire(headIsARead)},
	{"PartsAreReads", "A GET is a read, whatever its headers ask for.", onWire(partsAreReads)},
	{"ConnectionsKeepNothing", "What came before on a connection does not matter: no claim of it, and no body of a refused request.", onWire(connectionsKeepNothing)},
	{"LateBodyIsNoWayIn", "Check and write are one step, also where a request's body comes long after its headers.", onWire(lateBodyIsNoWayIn)},
	{"ChunkedBodyIsWhole", "A write whose body comes in chunks is done as a whole, or not at all.", onWire(chunkedBodyIsWhole)},
	{"BatchIsFenced", "A stale batch is refused, and one without a token, and a batch raises the mark.", onWire(batchIsFenced)},
}

// The names in the laws of HTTP.
const (
	lock = "lock"
	key  = "lock" // it is called as its lock, for protocols without scopes
)

func claim(t fence.Token) fence.Claim { return fence.Claim{Scope: lock, Token: t} }

// steps makes requests of one view. The first that does not come out as it must is the last.
type steps struct {
	v1
	judge *judge
	ctx   context.Context
	err   error // of the first that did not
}

func onWire(check func(*steps)) func(context.Context, *judge) error {
	return func(ctx context.Context, j *judge) error {
		if j.speaks.Protocol != protocolV1 {
			return fmt.Errorf("%w: it is about /v1, and the storage speaks %s", fencetest.ErrNotApplicable, j.speaks.Protocol)
		}
		s := &steps{judge: j, ctx: ctx}
		if s.begin(); s.err == nil {
			check(s)
		}
		return s.err
	}
}

// begin has "kept" at the key, by token 35, in a part of the storage that nobody has used.
func (s *steps) begin() {
	begun, err := s.judge.begin(s.ctx)
	if err != nil {
		s.fail("%w", err)
		return
	}
	s.v1 = begun.(v1)
	s.write(35, "kept", nil)
}

func (s *steps) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

// after does what, and says what came before where it fails.
func (s *steps) after(before string, what func()) {
	if s.err != nil {
		return
	}
	if what(); s.err != nil {
		s.err = fmt.Errorf("after %s: %w", before, s.err)
	}
}

func (s *steps) write(t fence.Token, value string, want error) {
	if s.err != nil {
		return
	}
	err := s.Write(s.ctx, claim(t), key, value)
	switch {
	case want == nil && err != nil:
		s.fail("a write with token %d: %w, want it admitted", t, err)
	case want != nil && err == nil:
		s.fail("a write with token %d was admitted, want it refused with 412", t)
	case !errors.Is(err, want):
		s.fail("a write with token %d: %w, want it refused with 412", t, err)
	}
}

func (s *steps) stays(value, after string) {
	if s.err != nil {
		return
	}
	got, ok, err := s.Read(s.ctx, claim(0), key)
	switch {
	case err != nil:
		s.fail("a read after %s: %w", after, err)
	case !ok:
		s.fail("after %s the key is gone, want %q", after, value)
	case got != value:
		s.fail("after %s the key has %q, want %q", after, got, value)
	}
}

// asking is a request of the key. A PUT has the body, other requests have none.
func (s *steps) asking(method, body string, header ...string) Exchange {
	if method != http.MethodPut {
		body = ""
	}
	return Exchange{Method: method, Path: s.path(key), Header: header, Body: body}
}

func (s *steps) answer(e Exchange, what string) (a program.Answer) {
	if s.err != nil {
		return a
	}
	a, err := s.client.ask(s.ctx, s.base, e)
	if err != nil {
		s.fail("%s: %w", what, err)
	}
	return a
}

func (s *steps) tries(e Exchange) {
	if s.err == nil {
		_, _ = s.client.ask(s.ctx, s.base, e)
	}
}

func (s *steps) refused(e Exchange, what string) {
	s.wants(e, what, program.Answer.Refused, "refused with a status from 400 to 499")
}

func (s *steps) done(e Exchange, what string) {
	s.wants(e, what, program.Answer.OK, "admitted with a status from 200 to 299")
}

func (s *steps) wants(e Exchange, what string, is func(program.Answer) bool, want string) {
	if s.err != nil {
		return
	}
	a, err := s.client.ask(s.ctx, s.base, e)
	switch {
	case err != nil:
		s.fail("%s: %w, want it %s", what, err, want)
	case !is(a):
		s.fail("%s: the storage answered %v, want it %s", what, a, want)
	}
}

// token is a header as it is written.
func token(text string) string { return fencehttp.HeaderToken + ": " + text }

func (s *steps) scope() string { return fencehttp.HeaderScope + ": " + s.name(lock) }

func onlyNumbersAreTokens(s *steps) {
	for _, text := range []string{
		"", "0", "00", "-0", "+0", "-1", "-36", "abc", "36abc", "36.0", "36.5", "1e3", "0x24", "Infinity", "NaN", "true", "null", "36, 37", "36 37",
		"3_6", "３６", "٣٦", "३६",
		"9223372036854775808", "18446744073709551615", "18446744073709551616", "18446744073709551652", strings.Repeat("9", 400),
	} {
		what := fmt.Sprintf("token %q", program.Shown(text))
		s.refused(s.asking(http.MethodPut, "garbage", s.scope(), token(text)), "a write with "+what)
		s.refused(s.asking(http.MethodDelete, "", s.scope(), token(text)), "a delete with "+what)
		s.stays("kept", "requests with "+what)
		s.after("refused requests with "+what, func() { s.write(35, "kept", nil) })
		s.inFreshScope(text, "a write with "+what+" in a scope without a mark")
	}
	s.write(34, "stale", fence.ErrStale)
}

// inFreshScope has a token refused where there is no mark that refuses it as stale.
func (s *steps) inFreshScope(text, what string) {
	if s.err != nil {
		return
	}
	kept := s.v1
	s.v1 = v1{s.judge.view()}
	s.refused(s.asking(http.MethodPut, "garbage", s.scope(), token(text)), what)
	if s.err == nil {
		if got, ok, err := s.Read(s.ctx, claim(0), key); err != nil || ok {
			s.fail("a read after %s: got %q (there: %v, %v), want no value", what, got, ok, err)
		}
	}
	s.after(what, func() { s.write(1, "first", nil) })
	s.v1 = kept
}

func spellingIsNoWayIn(s *steps) {
	for _, text := range []string{"034", "00000000000000000000034", "+34", "3_4", "３４", "34.0", "34e0", "0x22", "0o42", "34L"} {
		what := fmt.Sprintf("a write with token %q, where 35 has been seen", text)
		s.refused(s.asking(http.MethodPut, "stale", s.scope(), token(text)), what)
		s.stays("kept", what)
	}
}

func headerNamesHaveNoCase(s *steps) {
	for i, spell := range []func(string) string{strings.ToLower, strings.ToUpper} {
		next := fence.Token(36 + 2*i)
		asking := func(method string, t fence.Token, body string) Exchange {
			return s.asking(method, body, spell(fencehttp.HeaderScope)+": "+s.name(lock), spell(fencehttp.HeaderToken)+": "+t.String())
		}
		what := "a request with " + spell(fencehttp.HeaderToken)
		s.refused(asking(http.MethodPut, next-2, "stale"), "a stale write with "+spell(fencehttp.HeaderToken))
		s.stays("kept", what)
		s.done(asking(http.MethodGet, next, ""), what)
		s.write(next-1, "stale", fence.ErrStale)
		s.done(asking(http.MethodPut, next+1, "kept"), what)
		s.write(next, "stale", fence.ErrStale)
		s.stays("kept", what)
	}
}

func twoTokensAreNoWayIn(s *steps) {
	for _, method := range []string{http.MethodPut, http.MethodGet} {
		for _, two := range [][]fence.Token{{34, 36}, {36, 34}, {36, 38}, {38, 36}} { // where 35 has been seen
			one, other := two[0].String(), two[1].String()
			for _, header := range [][]string{{token(one), token(other)}, {token(one + ", " + other)}} {
				s.begin()
				what := "a " + method + " with " + strings.Join(header, " and ")
				done := s.answer(s.asking(method, "kept", append(header, s.scope())...), what).OK()
				s.after(what, func() {
					if done {
						s.write(max(two[0], two[1])-1, "stale", fence.ErrStale)
					} else {
						s.write(35, "kept", nil)
					}
					s.write(34, "stale", fence.ErrStale)
				})
				s.stays("kept", what)
			}
		}
	}
}

// chunkedBodyIsWhole goes by the value: a storage that refuses the request may hang up before it has the body.
func chunkedBodyIsWhole(s *steps) {
	e := s.asking(http.MethodPut, "in chunks", s.scope(), token("35"), chunked)
	a, err := s.client.ask(s.ctx, s.base, e)
	value, _, lost := s.Read(s.ctx, claim(0), key)
	if lost != nil {
		s.fail("a read after a write whose body came in chunks: %w", lost)
	}
	whole, refused := value == e.Body, value == "kept" && (err != nil || !a.OK())
	if !whole && !refused {
		s.fail("after a write whose body came in chunks the key has %q, want %q, or the write refused", value, e.Body)
	}
}
