package sqlservice

import (
	"context"

	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// tenure is what those of both kinds have.
type tenure[C any] struct {
	*service.Life

	of *asking[C]
}

func newTenure[C any](w *asking[C]) *tenure[C] {
	return &tenure[C]{Life: service.NewLife(), of: w}
}

// Grant implements lock.Tenure, as those below do.
func (t *tenure[C]) Grant() lock.Grant {
	return lock.Grant{Scope: t.of.Attempt.Lock, Owner: t.of.Owner, Token: t.of.Token}
}

// Name implements service.Tenure, as those below do.
func (t *tenure[C]) Name() string { return t.of.Owner }

func (t *tenure[C]) Session() string { return t.of.Owner }

func (t *tenure[C]) Shown() (token fence.Token, remark string) { return t.of.Token, "" }

// Look is never asked for: no setting names a way of the service's own.
func (t *tenure[C]) Look(_ context.Context, how string) (said string, err error) {
	return "", noLook(t.of.Database.Name(), how)
}
