package k8slock

import (
	"context"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// Tenure is a tenure of a Lease.
type Tenure struct {
	leases *leases
	name   string // the Lease's
	grant  lock.Grant
	life   attempt.Life
	last   lease // as the tenure has left it; only renew changes it
}

var _ lock.Renewer = (*Tenure)(nil)

// newTenure begins a tenure that surely lasts until then.
func (b *Backend) newTenure(scope, name string, l lease, until time.Time) *Tenure {
	t := &Tenure{
		leases: b.leases, name: name, last: l,
		grant: lock.Grant{Scope: scope, Owner: l.holder.Owner, Token: fence.Token(l.version)},
	}
	t.life.Begin(context.Background())
	t.life.Keep(until, attempt.Renewal{Package: "k8slock", Scope: scope, TTL: b.ttl, Renew: t.renew})
	return t
}

// Grant returns what was granted. The owner is the Lease's holderIdentity.
func (t *Tenure) Grant() lock.Grant { return t.grant }

// Done is closed by Unlock, or when the Lease is found without the tenure at a renewal, or when no renewal was answered for
// the TTL. That TTL begins when the last request that was answered was sent.
func (t *Tenure) Done() <-chan struct{} { return t.life.Done() }

// Err is as lock.Tenure says.
func (t *Tenure) Err() error { return t.life.Err() }

// Unlock frees the lock if this tenure still has it. Unlock returns when ctx is done; give ctx a deadline. Done is closed as
// soon as Unlock begins. If a proxy sends the write twice, the second one is refused because of the first one, and Unlock
// returns lock.ErrLost of a lock that it has freed.
func (t *Tenure) Unlock(ctx context.Context) error {
	t.life.Release()
	_, freed, err := t.leases.own(ctx, t.name, t.last, t.grant.Owner, func(last lease) (lease, bool, error) {
		freed, err := t.leases.free(ctx, t.name, last)
		return last, freed, err
	})
	if err != nil {
		return &lock.UnknownError{Op: "unlock", Scope: t.grant.Scope, Err: fmt.Errorf("k8slock: %w", err)}
	}
	if !freed {
		return fmt.Errorf("k8slock: unlock %q, token %d: %w", t.grant.Scope, t.grant.Token, lock.ErrLost)
	}
	return nil
}

// renew writes the Lease anew. A write that something on the way sends twice is done, and is refused: the Lease is another one
// than renew has read.
func (t *Tenure) renew(ctx context.Context, _ time.Duration) (held bool, err error) {
	read := t.last
	left, held, err := t.leases.own(ctx, t.name, t.last, t.grant.Owner, func(last lease) (lease, bool, error) {
		if read.version != t.last.version && read.version != last.version {
			return last, true, nil
		}
		read = last
		h := last.holder
		h.Token = t.grant.Token
		return t.leases.write(ctx, t.name, last, last.spec, h)
	})
	if held {
		t.last = left
	}
	return held, err
}

// OnRenewal is as lock.Renewer says.
func (t *Tenure) OnRenewal(f func(took time.Duration, err error)) { t.life.OnRenewal(f) }
