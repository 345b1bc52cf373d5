package fence_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
)

func nothing(context.Context) error { return nil }

func TestMarkStaysWhereTheOperationFails(t *testing.T) {
	var r fence.Register
	failed := errors.New("disk full")
	c := fence.Claim{Scope: "a", Token: 34, Sequence: 1}
	if err := r.Do(t.Context(), c, func(context.Context) error { return failed }); err != failed {
		t.Fatalf("got %v, want the operation's own error", err)
	}
	if got := r.Mark("a"); got != (fence.Mark{Token: 34}) {
		t.Errorf("mark %+v, want token 34 and no sequence: it was not done", got)
	}
	if err := r.Do(t.Context(), fence.Claim{Scope: "a", Token: 33}, nothing); !errors.Is(err, fence.ErrStale) {
		t.Errorf("older token: got %v, want ErrStale", err)
	}
	ran := false
	if err := r.Do(t.Context(), c, func(context.Context) error { ran = true; return nil }); err != nil || !ran {
		t.Errorf("retry of what failed: error %v, ran %v, want it done", err, ran)
	}
	ran = false
	if err := r.Do(t.Context(), c, func(context.Context) error { ran = true; return nil }); err != fence.ErrDuplicate || ran {
		t.Errorf("retry of what was done: error %v, ran %v, want ErrDuplicate", err, ran)
	}
}

func TestPanicFreesTheScope(t *testing.T) {
	var r fence.Register
	func() {
		defer func() { _ = recover() }()
		_ = r.Do(t.Context(), fence.Claim{Scope: "a", Token: 34}, func(context.Context) error { panic("in the operation") })
	}()
	if err := r.Do(t.Context(), fence.Claim{Scope: "a", Token: 33}, nothing); !errors.Is(err, fence.ErrStale) {
		t.Errorf("got %v, want ErrStale: the mark was raised before the panic", err)
	}
}

// TestScopesDoNotWaitForEachOther runs an operation of one scope inside another
// one's, for more scopes than there are shards.
func TestScopesDoNotWaitForEachOther(t *testing.T) {
	var r fence.Register
	var nest func(depth int) error
	nest = func(depth int) error {
		if depth == 0 {
			return nil
		}
		return r.Do(t.Context(), fence.Claim{Scope: string(rune('a' + depth)), Token: 1}, func(context.Context) error { return nest(depth - 1) })
	}
	if err := nest(500); err != nil {
		t.Fatal(err)
	}
}

func TestBound(t *testing.T) {
	issuer := errors.New("the issuer does not answer")
	asked := 0
	bound, fail := fence.Token(40), error(nil)
	r := fence.Register{Bound: func(fence.Claim) (fence.Token, error) { asked++; return bound, fail }}
	do := func(token fence.Token) error {
		return r.Do(t.Context(), fence.Claim{Scope: "a", Token: token}, nothing)
	}

	var ahead *fence.AheadError
	if err := do(math.MaxInt64); !errors.As(err, &ahead) || *ahead != (fence.AheadError{Scope: "a", Token: math.MaxInt64, Bound: 40}) {
		t.Errorf("got %v, want an AheadError with all three", err)
	}
	if err := do(40); err != nil {
		t.Errorf("the bound itself: %v", err)
	}
	asked = 0
	if err := do(40); err != nil || asked != 0 {
		t.Errorf("a tenure that is known: error %v, asked %d times, want no question", err, asked)
	}
	if err := r.Do(t.Context(), fence.Claim{Scope: "readers", Token: 40, Mode: fence.Shared}, nothing); err != nil {
		t.Errorf("a shared claim: %v", err)
	}
	asked = 0
	if err := r.Do(t.Context(), fence.Claim{Scope: "readers", Token: 40, Mode: fence.Shared}, nothing); err != nil || asked != 0 {
		t.Errorf("a shared tenure that is known: error %v, asked %d times, want no question", err, asked)
	}
	fail = issuer
	if err := do(41); !errors.Is(err, fence.ErrNoBound) || !errors.Is(err, issuer) {
		t.Errorf("got %v, want ErrNoBound with the issuer's error", err)
	}
	if got := r.Mark("a").Token; got != 40 {
		t.Errorf("mark %d, want 40: nothing ahead of the issuer was admitted", got)
	}
}

func TestBadClaimsTakeNoMemory(t *testing.T) {
	var r fence.Register
	for _, c := range []fence.Claim{{Scope: "a"}, {Scope: "a", Token: -1}, {Scope: "a", Token: 1, Sequence: -1}} {
		allocs := testing.AllocsPerRun(100, func() { _ = r.Do(t.Context(), fence.Claim{Scope: "a"}, nothing) })
		if err := r.Do(t.Context(), c, nothing); err == nil {
			t.Errorf("%+v was admitted", c)
		}
		if allocs > 0 {
			t.Errorf("%+v: %v allocations, want none", c, allocs)
		}
	}
}

// TestCanceledRequestsTakeNoMemory: a request that nobody waits for does not take the place of
// another scope.
func TestCanceledRequestsTakeNoMemory(t *testing.T) {
	r := fence.Register{MaxScopes: 2}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, scope := range []string{"a", "b", "c"} {
		err := r.Do(ctx, fence.Claim{Scope: scope, Token: 34}, nothing)
		if !errors.Is(err, context.Canceled) || fence.OutcomeOf(err) != fence.Definite {
			t.Errorf("scope %s: %v, outcome %v, want that it did not run", scope, err, fence.OutcomeOf(err))
		}
	}
	if n := r.Len(); n != 0 {
		t.Errorf("%d scopes, want none", n)
	}
	if err := r.Do(t.Context(), fence.Claim{Scope: "d", Token: 34}, nothing); err != nil {
		t.Error(err)
	}
}

func TestAdmittedPathDoesNotAllocate(t *testing.T) {
	var r fence.Register
	token, value := fence.Token(0), 0
	if n := testing.AllocsPerRun(1000, func() {
		token++
		if err := r.Do(t.Context(), fence.Claim{Scope: "a", Token: token, Sequence: 1}, func(context.Context) error { value++; return nil }); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// FuzzRegister runs a string of claims against a model that is written the other
// way round: it keeps all that was ever admitted and looks for anything newer.
func FuzzRegister(f *testing.F) {
	f.Add([]byte{1, 33, 0, 1, 34, 0, 1, 33, 0})
	f.Add([]byte{0, 1, 3, 0, 1, 2, 0, 1, 3, 128, 1, 4, 0, 2, 1})
	f.Add([]byte{0, 0, 0, 3, 255, 255, 7, 128, 128})
	f.Add([]byte{64, 3, 0, 64, 2, 0, 0, 2, 0, 0, 4, 1, 64, 3, 0, 64, 5, 1, 64, 4, 0})
	f.Fuzz(func(t *testing.T, program []byte) {
		type admitted struct {
			claim fence.Claim
			done  bool
		}
		var r fence.Register
		var past []admitted
		failed := errors.New("the operation failed")
		for ; len(program) >= 3; program = program[3:] {
			fails := program[0]&128 != 0
			c := fence.Claim{
				Scope:    string('a' + rune(program[0]&1)),
				Token:    fence.Token(int8(program[1])),
				Sequence: int64(int8(program[2])),
				Mode:     fence.Mode(program[0] >> 6 & 1),
			}
			var want error
			switch {
			case c.Token == 0:
				want = fence.ErrNoToken
			case c.Token < 0:
				want = fence.ErrInvalidToken
			case c.Sequence < 0, c.Sequence > 0 && c.Mode == fence.Shared:
				want = fence.ErrInvalidSequence
			default:
				for _, p := range past {
					if p.claim.Scope != c.Scope {
						continue
					}
					if together := p.claim.Mode == fence.Shared && c.Mode == fence.Shared; p.claim.Token > c.Token && !together {
						want = fence.ErrStale
					}
				}
				for _, p := range past {
					if want != nil || p.claim.Scope != c.Scope || p.claim.Token != c.Token || !p.done || c.Sequence == 0 {
						continue
					}
					if p.claim.Sequence > c.Sequence {
						want = fence.ErrStale
					}
				}
				for _, p := range past {
					if want == nil && c.Sequence > 0 && p.done && p.claim == c {
						want = fence.ErrDuplicate
					}
				}
			}
			ran := false
			err := r.Do(t.Context(), c, func(context.Context) error {
				ran = true
				if fails {
					return failed
				}
				return nil
			})
			switch {
			case want != nil && (ran || !errors.Is(err, want)):
				t.Fatalf("%+v after %+v: ran %v, error %v, want %v", c, past, ran, err, want)
			case want == nil && (!ran || (err != nil) != fails):
				t.Fatalf("%+v after %+v: ran %v, error %v, want it admitted", c, past, ran, err)
			case want == nil:
				past = append(past, admitted{c, !fails})
			}
		}
	})
}
