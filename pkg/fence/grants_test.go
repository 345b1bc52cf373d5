package fence_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
)

// service is a lock service as small as it can be: it knows who holds one lock,
// and each grant has a higher token than all before.
type service struct {
	random *rand.Rand
	last   fence.Token
	held   []fence.Claim
}

// grant gives the lock to one more, if those who hold it allow that.
func (s *service) grant(mode fence.Mode) (c fence.Claim, ok bool) {
	for _, h := range s.held {
		if mode == fence.Exclusive || h.Mode == fence.Exclusive {
			return c, false
		}
	}
	s.last += fence.Token(1 + s.random.IntN(3))
	c = fence.Claim{Scope: "a", Token: s.last, Mode: mode}
	s.held = append(s.held, c)
	return c, true
}

// oldest is the lowest token of those who hold the lock; where nobody does, that
// of whoever comes next.
func (s *service) oldest() fence.Token {
	floor := s.last + 1
	for _, h := range s.held {
		floor = min(floor, h.Token)
	}
	return floor
}

// client is one that was granted the lock. It does not know that its tenure ended.
type client struct {
	claim    fence.Claim
	live     bool
	sequence int64
}

// overtaken reports whether a claim of a later tenure, which could not go on
// together with that of c, was admitted.
func overtaken(c fence.Claim, admitted []fence.Claim) bool {
	for _, a := range admitted {
		if a.Token > c.Token && (a.Mode == fence.Exclusive || c.Mode == fence.Exclusive) {
			return true
		}
	}
	return false
}

// TestNoLiveClaimIsRefusedAndNoStaleOneAdmitted: a lock service grants a lock to
// readers and writers, and takes it back from them without their knowledge; all
// of them go on with their requests, in any order. The model says who lives and
// who was overtaken, and knows no marks.
func TestNoLiveClaimIsRefusedAndNoStaleOneAdmitted(t *testing.T) {
	const runs, steps = 300, 200
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	admittedShared, refusedShared, refusedByShared := 0, 0, 0
	for run := range runs {
		var r fence.Register
		s := service{random: random}
		var clients []*client
		var admitted []fence.Claim
		for range steps {
			switch dice := random.IntN(20); {
			case dice < 4: // somebody asks for the lock
				if c, ok := s.grant(fence.Mode(min(1, random.IntN(3)))); ok {
					clients = append(clients, &client{claim: c, live: true})
				}
			case dice < 6 && len(s.held) > 0: // a lease expires
				i := random.IntN(len(s.held))
				for _, c := range clients {
					c.live = c.live && c.claim.Token != s.held[i].Token
				}
				s.held = append(s.held[:i:i], s.held[i+1:]...)
			case dice == 6 && random.IntN(5) == 0:
				r.Raise(s.oldest())
			case len(clients) > 0: // a client goes on, most often one of the latest
				c := clients[max(0, len(clients)-1-random.IntN(6))]
				claim := c.claim
				if claim.Mode == fence.Exclusive && random.IntN(2) == 0 {
					c.sequence++
					claim.Sequence = c.sequence
				}
				err := r.Do(t.Context(), claim, func(context.Context) error { return nil })
				var stale *fence.StaleError
				switch {
				case err != nil && !errors.As(err, &stale):
					t.Fatalf("seed %d, run %d: %+v: %v", seed, run, claim, err)
				case err != nil && c.live:
					t.Fatalf("seed %d, run %d: %+v holds the lock, and was refused: %v", seed, run, claim, err)
				case err == nil && overtaken(claim, admitted):
					t.Fatalf("seed %d, run %d: %+v was admitted after %+v", seed, run, claim, admitted)
				case err == nil && claim.Mode == fence.Shared:
					admittedShared++
				case err != nil && claim.Mode == fence.Shared:
					refusedShared++
				case err != nil && stale.MarkMode == fence.Shared:
					refusedByShared++
				}
				if err == nil {
					admitted = append(admitted, claim)
				} else if r.Floor() == 0 && !overtaken(claim, admitted) {
					t.Fatalf("seed %d, run %d: %+v was refused (%v), and nothing overtook it: %+v", seed, run, claim, err, admitted)
				}
			}
		}
	}
	t.Logf("shared claims: %d admitted, %d refused; %d exclusive ones refused by a shared mark", admittedShared, refusedShared, refusedByShared)
	if min(admittedShared, refusedShared, refusedByShared) < runs {
		t.Error("the runs do not show what they are to show")
	}
}
