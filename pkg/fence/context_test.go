package fence_test

import (
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
)

func TestContextCarriesAClaimForEachScope(t *testing.T) {
	orders, stock := fence.Claim{Scope: "/orders", Token: 34}, fence.Claim{Scope: "/stock", Token: 7, Mode: fence.Shared}
	ctx := fence.WithClaim(fence.WithClaim(t.Context(), orders), stock)
	again := fence.WithClaim(ctx, fence.Claim{Scope: "/orders", Token: 34, Sequence: 2})
	for _, want := range []fence.Claim{orders, stock} {
		if c, carried := fence.ClaimOf(ctx, want.Scope); c != want || !carried {
			t.Errorf("%s: %+v, %v, want %+v", want.Scope, c, carried, want)
		}
	}
	if c, carried := fence.ClaimOf(again, "/orders"); c.Sequence != 2 || !carried {
		t.Errorf("/orders: %+v, %v, want the later claim", c, carried)
	}
	if c, carried := fence.ClaimOf(again, "/stock"); c != stock || !carried {
		t.Errorf("/stock: %+v, %v, want it as it was", c, carried)
	}
	if c, carried := fence.ClaimOf(again, ""); c != (fence.Claim{}) || carried {
		t.Errorf("a scope without a claim: %+v, %v", c, carried)
	}
}
