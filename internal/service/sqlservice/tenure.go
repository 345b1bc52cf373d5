package sqlservice

import (
	"context"
	"fmt"

	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// named is a tenure of any kind, which the account calls by its owner.
type named struct {
	lock.Tenure
	database string
}

// granted takes in what came of an attempt.
func (w *asking) granted(ctx context.Context) func(lock.Tenure, error) (service.Tenure, error) {
	return func(t lock.Tenure, err error) (service.Tenure, error) {
		if err != nil {
			return nil, err
		}
		service.Stand(ctx, t.Grant().Owner)
		return named{t, w.Database.Name()}, nil
	}
}

// Name implements service.Tenure.
func (n named) Name() string { return n.Grant().Owner }

func (n named) Session() string { return n.Grant().Owner }

func (n named) Shown() (token fence.Token, remark string) { return n.Grant().Token, "" }

// Look is never asked for: no setting names a way of the service's own.
func (n named) Look(_ context.Context, how string) (said string, err error) {
	return "", fmt.Errorf("%s: there is no look %q", n.database, how)
}

// tenure is what those have that package sqllock has not taken.
type tenure struct {
	*service.Life
	of *asking
}

// Grant implements lock.Tenure.
func (t *tenure) Grant() lock.Grant {
	return lock.Grant{Scope: t.of.Attempt.Lock, Owner: t.of.Owner, Token: t.of.Token}
}
