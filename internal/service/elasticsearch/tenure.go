package elasticsearch

import (
	"context"
	"fmt"

	"github.com/fencelab/fencelab/internal/service"
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

// held is a tenure of any recipe.
type held struct {
	service.Granted
	of *asking
}

// Look asks Elasticsearch whose the lock is.
func (h *held) Look(ctx context.Context, _ string) (said string, err error) {
	w := h.of
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
