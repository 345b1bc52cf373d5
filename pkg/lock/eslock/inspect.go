package eslock

import (
	"context"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/internal/esdoc"
	"github.com/fencelab/fencelab/pkg/lock"
)

// Inspect is as lock.Inspector says. Elasticsearch has no leases, and so Inspect tells how long
// none lasts; of a holder that crashed it tells until the Backend has seen the holder's state
// for its TTL. Nobody knows who waits.
func (b *Backend) Inspect(ctx context.Context, scope string) (lock.State, error) {
	if b.index.Index == nil {
		return lock.State{}, errZero
	}
	if err := esdoc.CheckScope(scope); err != nil {
		return lock.State{}, fmt.Errorf("eslock: inspect: %w", err)
	}
	asked := time.Now()
	read, err := b.index.read(ctx, scope)
	if err != nil {
		return lock.State{}, fence.Definite.Wrap(fmt.Errorf("eslock: inspect %q: %w", scope, err))
	}
	var state lock.State
	for _, h := range b.alive(scope, read.Holders, asked) {
		state.Holders = append(state.Holders, lock.Party{
			Grant: lock.Grant{Scope: scope, Owner: h.Owner, Token: h.Token, Mode: h.Mode},
			Words: h.Words,
		})
	}
	return state, nil
}
