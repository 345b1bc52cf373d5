package redis

import (
	"context"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/pkg/fence"
)

// tokenApart counts the token in a step of its own: whoever is stopped between the steps
// has a higher token than its successor.
var tokenApart = recipe{
	name: "token-apart", shows: history.ShowsLater,
	about: "SET with NX and PX, and then INCR for the token, in a step of its own.",
	take: func(ctx context.Context, a *attempt) (bool, error) {
		taken, err := a.setNXPX(ctx)
		if err != nil || !taken {
			return false, err
		}
		a.stand(ctx)
		n, err := a.redis.Incr(ctx, counterOf(a.lock)).Uint64()
		a.token = fence.Token(n)
		return true, err
	},
}
