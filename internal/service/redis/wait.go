package redis

import (
	"context"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
)

// waitFor is for how long a client waits until replicas have its lock, as in Redisson.
const waitFor = time.Second

// errNotReplicated is why a client has given a lock back that it had taken.
var errNotReplicated = fence.Definite.New("too few replicas have the lock, and it is given back")

// replicated returns when so many replicas have the lock as the client wants. Where they do
// not have it in time it gives the lock back.
func (w *asking) replicated(ctx context.Context, a *attempt) error {
	want := w.settings.Number(settingWait)
	if want == 0 {
		return nil
	}
	have, err := a.redis.Wait(ctx, want, waitFor).Result()
	if err != nil || int(have) >= want {
		return err
	}
	if err := unlockScript.Run(ctx, a.redis, []string{a.lock}, a.owner).Err(); err != nil {
		return err
	}
	return fmt.Errorf("%w: want %d within %v, and %d have it", errNotReplicated, want, waitFor, have)
}
