package fence_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
)

// TestTwoMarks is the rule, case by case.
func TestTwoMarks(t *testing.T) {
	exclusive := func(token fence.Token) fence.Claim { return fence.Claim{Scope: "a", Token: token} }
	shared := func(token fence.Token) fence.Claim {
		return fence.Claim{Scope: "a", Token: token, Mode: fence.Shared}
	}
	stale := func(token, mark fence.Token, mode fence.Mode) error {
		return &fence.StaleError{Scope: "a", Token: token, Mark: mark, MarkMode: mode}
	}
	for _, tt := range []struct {
		before fence.Mark
		claim  fence.Claim
		after  fence.Mark
		err    error
	}{
		{fence.Mark{}, shared(5), fence.Mark{Shared: 5}, nil},
		{fence.Mark{Shared: 5}, shared(3), fence.Mark{Shared: 5}, nil},
		{fence.Mark{Shared: 5}, shared(7), fence.Mark{Shared: 7}, nil},
		{fence.Mark{Shared: 5}, exclusive(4), fence.Mark{}, stale(4, 5, fence.Shared)},
		{fence.Mark{Shared: 5}, exclusive(5), fence.Mark{Token: 5}, nil},
		{fence.Mark{Shared: 5}, exclusive(6), fence.Mark{Token: 6}, nil},
		{fence.Mark{Token: 5}, shared(4), fence.Mark{}, stale(4, 5, fence.Exclusive)},
		{fence.Mark{Token: 5, Sequence: 2}, shared(5), fence.Mark{Token: 5, Sequence: 2}, nil},
		{fence.Mark{Token: 5, Sequence: 2}, shared(6), fence.Mark{Token: 5, Sequence: 2, Shared: 6}, nil},
		{fence.Mark{Token: 5, Sequence: 2, Shared: 6}, exclusive(5), fence.Mark{}, stale(5, 6, fence.Shared)},
		{fence.Mark{Token: 5, Sequence: 2, Shared: 6}, exclusive(4), fence.Mark{}, stale(4, 6, fence.Shared)},
		{fence.Mark{Token: 5, Sequence: 2, Shared: 8}, shared(4), fence.Mark{}, stale(4, 5, fence.Exclusive)},
		{fence.Mark{Token: 5, Sequence: 2, Shared: 8}, shared(6), fence.Mark{Token: 5, Sequence: 2, Shared: 8}, nil},
		{fence.Mark{Token: 5, Sequence: 2, Shared: 8}, exclusive(9), fence.Mark{Token: 9}, nil},
		{fence.Mark{Token: 5, Shared: 3}, exclusive(4), fence.Mark{}, stale(4, 5, fence.Exclusive)},
	} {
		after, err := tt.before.Admit(tt.claim)
		if tt.err != nil {
			tt.after = tt.before
		}
		if after != tt.after || !reflect.DeepEqual(err, tt.err) {
			t.Errorf("%+v at %+v: %+v, %v, want %+v, %v", tt.claim, tt.before, after, err, tt.after, tt.err)
		}
	}
}

func TestSharedClaimsHaveNoSequence(t *testing.T) {
	for _, m := range []fence.Mark{{}, {Token: 9}} {
		after, err := m.Admit(fence.Claim{Token: 5, Sequence: 1, Mode: fence.Shared})
		if !errors.Is(err, fence.ErrInvalidSequence) || after != m {
			t.Errorf("at %+v: %+v, %v, want ErrInvalidSequence", m, after, err)
		}
	}
}

func TestUnknownModeIsRefused(t *testing.T) {
	if _, err := (fence.Mark{}).Admit(fence.Claim{Token: 5, Mode: 2}); !errors.Is(err, fence.ErrInvalidMode) {
		t.Errorf("got %v, want ErrInvalidMode", err)
	}
}

func TestParseMode(t *testing.T) {
	for _, m := range []fence.Mode{fence.Exclusive, fence.Shared} {
		var got fence.Mode
		text, err := m.MarshalText()
		if err := errors.Join(err, got.UnmarshalText(text)); err != nil || got != m {
			t.Errorf("%v came back as %v, %v", m, got, err)
		}
	}
	for _, s := range []string{"", "Shared", "read", " shared", strings.Repeat("s", 1000)} {
		_, err := fence.ParseMode(s)
		if !errors.Is(err, fence.ErrInvalidMode) || len(err.Error()) > 200 {
			t.Errorf("%.20q: got %v, want a short ErrInvalidMode", s, err)
		}
	}
}

// TestMaxRefusesWhatEitherRefuses tries all small marks and claims.
func TestMaxRefusesWhatEitherRefuses(t *testing.T) {
	var marks []fence.Mark
	for token := range fence.Token(4) {
		for sequence := range int64(3) {
			for shared := range fence.Token(4) {
				marks = append(marks, fence.Mark{Token: token, Sequence: sequence, Shared: shared})
			}
		}
	}
	refuses := func(m fence.Mark, c fence.Claim) bool {
		_, err := m.Admit(c)
		return err != nil
	}
	for _, m := range marks {
		for _, o := range marks {
			both := m.Max(o)
			if both.Shared != 0 && both.Shared <= both.Token {
				t.Errorf("%+v and %+v: %+v has a shared mark that says nothing", m, o, both)
			}
			for token := range fence.Token(5) {
				for _, c := range []fence.Claim{{Token: token}, {Token: token, Sequence: 1}, {Token: token, Sequence: 2}, {Token: token, Mode: fence.Shared}} {
					if got, want := refuses(both, c), refuses(m, c) || refuses(o, c); got != want {
						t.Fatalf("%+v and %+v are %+v: refuses %+v: %v, want %v", m, o, both, c, got, want)
					}
				}
			}
		}
	}
}
