package lock

import "context"

// Shared returns the Backend whose Lock is s.RLock and whose TryLock is
// s.TryRLock, for Do and Multi.
func Shared(s Sharer) Backend { return shared{s} }

type shared struct{ sharer Sharer }

func (s shared) TryLock(ctx context.Context, scope string) (Tenure, error) {
	return s.sharer.TryRLock(ctx, scope)
}

func (s shared) Lock(ctx context.Context, scope string) (Tenure, error) {
	return s.sharer.RLock(ctx, scope)
}
