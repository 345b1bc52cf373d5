package elasticsearch

import (
	"context"
	"fmt"

	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// tenure is one of a client, by a recipe without a lease: only its client ends it.
type tenure struct {
	*service.Life
	of *asking
}

// Grant implements lock.Tenure, as the one below does.
func (t *tenure) Grant() lock.Grant {
	return lock.Grant{Scope: t.of.lock, Owner: t.of.owner, Mode: t.of.recipe.mode}
}

func (t *tenure) Unlock(ctx context.Context) error {
	t.End(nil)
	mine, err := t.of.recipe.free(ctx, t.of.attempt)
	switch {
	case err != nil:
		return t.of.failed("unlock", err)
	case !mine:
		return lock.ErrLost
	}
	return nil
}

// Name implements service.Tenure, as those below do.
func (t *tenure) Name() string { return t.of.owner }

func (t *tenure) Session() string { return t.of.owner }

func (t *tenure) Shown() (token fence.Token, remark string) { return 0, "" }

func (t *tenure) Look(ctx context.Context, _ string) (said string, err error) { return t.of.look(ctx) }

// look asks Elasticsearch whose the lock is.
func (w *asking) look(ctx context.Context) (said string, err error) {
	question := "asked Elasticsearch whose " + w.lock + " is"
	d, err := w.get(ctx, w.lock)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", question, err)
	case !d.Found:
		return "", service.NotHeld(question + ": nobody's")
	case !d.Source.names(w.owner):
		return "", service.NotHeld(question + ": another's")
	}
	return question + ": its own", nil
}
