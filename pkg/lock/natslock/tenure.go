package natslock

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// Tenure is a tenure of a lock in a bucket.
type Tenure struct {
	backend *Backend
	grant   lock.Grant
	key     string
	holder  holder
	life    attempt.Life

	mu   sync.Mutex
	last uint64 // the last revision of the key that is known to be the tenure's
}

var (
	_ lock.Renewer    = (*Tenure)(nil)
	_ lock.Extensible = (*Tenure)(nil)
)

// newTenure begins a tenure that surely lasts until then.
func (b *Backend) newTenure(g lock.Grant, key string, h holder, until time.Time) *Tenure {
	h.Token = uint64(g.Token)
	t := &Tenure{backend: b, grant: g, key: key, holder: h, last: h.Token}
	t.grant.Mode = fence.Exclusive
	t.life.Begin(context.Background())
	t.life.Keep(until, attempt.Renewal{Package: "natslock", Scope: g.Scope, TTL: b.ttl, Renew: t.renew})
	return t
}

// Grant returns what was granted. The owner is what the key's value has for the tenure.
func (t *Tenure) Grant() lock.Grant { return t.grant }

// Done is closed by Unlock, or when a renewal finds that the key is the tenure's no more, or when
// no renewal was answered for the TTL. That TTL begins when the last request that was answered
// was sent.
func (t *Tenure) Done() <-chan struct{} { return t.life.Done() }

// Err is as lock.Tenure says.
func (t *Tenure) Err() error { return t.life.Err() }

// Unlock frees the lock if this tenure still has it. Unlock returns when ctx is done; give
// ctx a deadline. Done is closed as soon as Unlock begins.
func (t *Tenure) Unlock(ctx context.Context) error {
	t.life.Release()
	t.mu.Lock()
	last := t.last
	t.mu.Unlock()
	freed, err := t.backend.bucket.release(ctx, t.key, t.grant.Owner, last)
	if err != nil {
		return &lock.UnknownError{Op: "unlock", Scope: t.grant.Scope, Err: fmt.Errorf("natslock: %w", err)}
	}
	if !freed {
		return fmt.Errorf("natslock: unlock %q, token %d: %w", t.grant.Scope, t.grant.Token, lock.ErrLost)
	}
	return nil
}

// renew writes the key anew.
func (t *Tenure) renew(ctx context.Context, lease time.Duration) (held bool, err error) {
	lease = (lease + time.Second - 1).Truncate(time.Second) // of whole seconds
	t.mu.Lock()
	defer t.mu.Unlock()
	revision, held, err := t.backend.bucket.keep(ctx, t.key, t.holder, lease, t.last)
	if held {
		t.last = revision
	}
	return held, err
}

// Extend is as lock.Extensible says.
func (t *Tenure) Extend(ctx context.Context, d time.Duration) error { return t.life.Extend(ctx, d) }

// OnRenewal is as lock.Renewer says.
func (t *Tenure) OnRenewal(f func(took time.Duration, err error)) { t.life.OnRenewal(f) }
