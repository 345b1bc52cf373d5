package fence_test

import (
	"errors"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
)

func TestParseToken(t *testing.T) {
	for s, want := range map[string]fence.Token{
		"1":                   1,
		"34":                  34,
		"9007199254740993":    1<<53 + 1,
		"9223372036854775807": 1<<63 - 1,
	} {
		if got, err := fence.ParseToken(s); err != nil || got != want {
			t.Errorf("ParseToken(%q) = %d, %v, want %d", s, got, err, want)
		}
	}
	for s, reason := range map[string]string{
		"":                                   "empty",
		"0":                                  "begins with 0",
		"007":                                "begins with 0",
		"-1":                                 "not decimal digits only",
		"+1":                                 "not decimal digits only",
		" 1":                                 "not decimal digits only",
		"1\n":                                "not decimal digits only",
		"1.0":                                "not decimal digits only",
		"1e3":                                "not decimal digits only",
		"0x10":                               "not decimal digits only",
		"1_000":                              "not decimal digits only",
		"١٢":                                 "not decimal digits only",
		"NaN":                                "not decimal digits only",
		"9223372036854775808":                "over 9223372036854775807",
		"18446744073709551617":               "over 9223372036854775807",
		"1" + strings.Repeat("0", 1_000_000): "over 9223372036854775807",
	} {
		_, err := fence.ParseToken(s)
		if !errors.Is(err, fence.ErrInvalidToken) || !strings.Contains(err.Error(), reason) {
			t.Errorf("ParseToken(%.30q): error %v, want ErrInvalidToken that says %q", s, err, reason)
		}
		if err != nil && len(err.Error()) > 200 {
			t.Errorf("ParseToken(%.30q): the error has %d bytes, it must not repeat a huge input", s, len(err.Error()))
		}
		if _, err := fence.ParseSequence(s); !errors.Is(err, fence.ErrInvalidSequence) {
			t.Errorf("ParseSequence(%.30q): error %v, want ErrInvalidSequence", s, err)
		}
	}
}

// FuzzParseToken compares the parser with arithmetic of any precision, and holds
// it to one spelling per token.
func FuzzParseToken(f *testing.F) {
	for _, s := range []string{"", "0", "1", "-1", "+1", "01", "1e3", "9223372036854775807", "9223372036854775808", "٣"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := fence.ParseToken(s)
		n, ok := new(big.Int).SetString(s, 10)
		want := ok && n.Sign() > 0 && n.IsInt64() && n.String() == s
		if (err == nil) != want {
			t.Fatalf("ParseToken(%q): error %v, want valid: %v", s, err, want)
		}
		if err == nil && (got.String() != s || !got.Valid() || strconv.FormatInt(int64(got), 10) != s) {
			t.Fatalf("ParseToken(%q) = %d", s, got)
		}
		if err != nil && (got != 0 || !errors.Is(err, fence.ErrInvalidToken)) {
			t.Fatalf("ParseToken(%q) = %d, %v, want 0 and ErrInvalidToken", s, got, err)
		}
	})
}
