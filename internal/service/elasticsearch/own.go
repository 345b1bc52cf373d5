package elasticsearch

import (
	"context"
	"errors"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/eslock"
)

// Package eslock.
var (
	guarded = recipe{
		name: "global-guarded", shows: history.ShowsGrant, own: true,
		about: "Package eslock: the document names the holder, with the TTL of its lease and a token, one higher with each grant. It is never deleted. The holder renews its lease by a change of the document every third of the TTL. Who waits takes the lock over when the document has said the same of the holder for the TTL, by its own clock. Each change is made only if the document is as it was read (if_seq_no, if_primary_term).",
	}
	guardedRead = recipe{
		name: "global-guarded-read", shows: history.ShowsGrant, own: true, mode: fence.Shared,
		about: "The lock of a reader beside global-guarded: the document names each reader, with its lease and its token.",
	}
)

// backend is package eslock, for one attempt.
func (a *attempt) backend() (*eslock.Backend, error) {
	return eslock.New(a.url.String(), a.settings.Time(setting.TTL),
		eslock.Index(indexOf(a.lock)), eslock.HTTP(a.http), eslock.Owner(func() string { return a.owner }))
}

// tryOwn asks package eslock once.
func (w *asking) tryOwn(ctx context.Context) (service.Tenure, error) {
	try := w.own.TryLock
	if w.recipe.mode == fence.Shared {
		try = w.own.TryRLock
	}
	t, err := try(ctx, w.lock)
	switch {
	case errors.Is(err, lock.ErrLocked):
		return nil, lock.ErrLocked
	case err != nil:
		return nil, err
	}
	service.Stand(ctx, w.owner)
	return &held{service.Granted{Tenure: t}, w}, nil
}
