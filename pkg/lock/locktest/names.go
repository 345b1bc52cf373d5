package locktest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fencelab/fencelab/pkg/lock"
)

// alike are groups of names that a service may take for one: it folds case, accents or
// forms of Unicode, cuts names off, trims them, cleans paths, has another sign for a slash, decodes
// escapes or makes its own, ends them at a zero byte or at a sign of URLs, has one replacement for all bytes
// that are no text, keeps something else by a longer name, or has a checksum of 32 bits for a name.
var alike = [][]string{
	{"\u00e9", "e\u0301", "e", "E", "\u00c9"},
	{"\ufb01", "fi", "\uff46\uff49"},
	{"stra\u00dfe", "strasse", "stra\u1e9ee"},
	{"i", "\u0131", "\u0130", "i\u0307"},
	{"\u212b", "\u00c5", "A\u030a"},
	{"k", "\u212a"},
	{"end", "end ", "end  ", " end", "end\t", "end\n", "end\r\n", "end\u00a0", "end\u200b", "end."},
	{"zero", "zero\x00", "zero\x00one"},
	{"\xff", "\xfe", "\xff\xfe", "\ufffd", "?", "\xc3", "\xc3\x28", "\xed\xa0\x80"},
	{"a b", "a+b", "a%20b", "a%2520b", "a_b"},
	{"p/q", "p//q", "p/./q", "p/r/../q", "p%2Fq", "p%2fq", "p\\q", "p\u2215q"},
	{"s/t", "s:t", "s.t", "s_2Ft"},
	{"h", "h#1", "h?1", "h:token"},
	{"plumless", "buckeroo"}, // of one CRC-32, whatever comes before
	{"{1}", "{2}", "{}", "{"},
	{"*", "a*", "%", "a%", "_"},
}

// lengths are those, in bytes, at which services cut off names.
var lengths = []int{64, 128, 191, 255, 256, 512, 1024}

func namesApart(t *trial) error {
	for _, names := range alike {
		var scopes []string
		for _, name := range names {
			scopes = append(scopes, t.scope+name)
		}
		if err := t.apart(scopes); err != nil {
			return err
		}
	}
	return nil
}

func longNamesApart(t *trial) error {
	for _, n := range lengths {
		begin := t.scope + strings.Repeat("x", n-len(t.scope))
		if err := t.apart([]string{begin, begin + "1", begin + "2", "1" + begin, "2" + begin}); err != nil {
			return err
		}
	}
	return t.longWords()
}

// longWords: a holder may say as much as lock.MaxWords.
func (t *trial) longWords() error {
	tenure, err := t.take(func(ctx context.Context, scope string) (lock.Tenure, error) {
		return t.a.Lock(lock.WithWords(ctx, strings.Repeat("w", lock.MaxWords)), scope)
	}, t.scope)
	if err != nil {
		return fmt.Errorf("to a holder that gives %d bytes of words: %w", lock.MaxWords, err)
	}
	return t.unlock(tenure)
}

// apart is nil if each name is a scope of its own, or refused. Lock takes each second one.
func (t *trial) apart(scopes []string) error {
	held := make(map[string]lock.Tenure)
	for i, scope := range scopes {
		take := t.a.TryLock
		if i%2 == 1 {
			take = t.a.Lock
		}
		tenure, err := t.take(take, scope)
		switch {
		case errors.Is(err, lock.ErrLocked), errors.Is(err, context.DeadlineExceeded):
			return fmt.Errorf("take %q, while others of %q are held: %w", scope, scopes, err)
		case err != nil: // refused
			continue
		}
		if is := tenure.Grant().Scope; is != scope {
			return fmt.Errorf("%q was granted as %q", scope, is)
		}
		held[scope] = tenure
	}
	for _, scope := range scopes {
		tenure, granted := held[scope]
		if !granted {
			continue
		}
		if other, err := t.take(t.b.TryLock, scope); err == nil {
			return fmt.Errorf("trylock %q was granted, %+v, while %+v was current", scope, other.Grant(), tenure.Grant())
		}
		if err := t.released(tenure, scope); err != nil {
			return fmt.Errorf("of %q: %w", scopes, err)
		}
	}
	return nil
}
