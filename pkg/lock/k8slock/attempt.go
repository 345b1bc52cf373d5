package k8slock

import (
	"context"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/internal/kube"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

var errZero = fence.Definite.New("k8slock: this Backend was not made by New")

// attempt makes one attempt, or waits.
func (b *Backend) attempt(ctx context.Context, scope string, how attempt.Way) (lock.Tenure, error) {
	if b.leases == nil {
		return nil, errZero
	}
	name, err := kube.Name(scope)
	if err != nil {
		return nil, fmt.Errorf("k8slock: %s: %w", how.Op, err)
	}
	tenure, left, err := attempt.Stand(how, func() (*Tenure, error, error) {
		return b.stand(ctx, scope, name, how.Wait)
	})
	if err != nil {
		return nil, attempt.Attempt{Package: "k8slock", Way: how, Scope: scope}.Failed(ctx, err, "the lock may be taken", left)
	}
	return tenure, nil
}

// stand asks for the lock until it is granted or, without wait, once. left is why the lock may be taken in spite of the error.
func (b *Backend) stand(ctx context.Context, scope, name string, wait bool) (_ *Tenure, left, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	late, stop := attempt.Afterwards(ctx)
	defer stop()
	poll := attempt.Poll{Every: b.poll}
	h := holder{Owner: b.owner(), Words: lock.Words(ctx)}
	for {
		asked := time.Now()
		before, now, granted, err := b.take(late, scope, name, h)
		until := asked.Add(b.ttl)
		switch {
		case err != nil:
			return nil, b.takeBack(late, name, h.Owner, before, err), err
		case granted && ctx.Err() == nil && time.Now().Before(until):
			return b.newTenure(scope, name, now, until), nil, nil
		case granted: // and nobody wants it any more, or the answer took as long as the lease
			return nil, b.takeBack(late, name, h.Owner, before, nil), attempt.ErrLate
		case !wait:
			return nil, nil, lock.ErrLocked
		}
		if err := attempt.Sleep(ctx, poll.Pause()); err != nil {
			return nil, nil, err
		}
	}
}

// take takes the lock if no holder is in its way. A write that something on the way sends twice takes the lock, and is
// refused; the Lease tells, and without it nobody knows. before is the Lease's version for which it was asked last.
func (b *Backend) take(ctx context.Context, scope, name string, h holder) (before int64, now lease, granted bool, err error) {
	for refused := false; ; refused = true {
		asked := time.Now()
		read, err := b.leases.read(ctx, name)
		switch {
		case err != nil && refused:
			return before, lease{}, false, fence.Unknown.Wrap(err)
		case err != nil:
			return 0, lease{}, false, err
		case refused && read.spec.HolderIdentity == h.Owner: // a write was refused because of itself
			return read.version, read, true, nil
		case b.held(scope, read, asked):
			return 0, lease{}, false, nil
		}
		before = read.version
		now, written, err := b.leases.take(ctx, name, read, b.ttl, h)
		if err != nil || written {
			return before, now, written, err
		}
	}
}

// held reports whether a Lease, which was asked for at a time, has a holder who may go on.
func (b *Backend) held(scope string, l lease, asked time.Time) bool {
	var signs []attempt.Sign
	if l.spec.HolderIdentity != "" {
		signs = []attempt.Sign{{Owner: l.spec.HolderIdentity, State: l.version, TTL: l.ttl(b.ttl)}}
	}
	return len(b.watch.Alive(scope, signs, asked)) > 0
}

// takeBack frees the lock that an attempt may have, which asked for a version of the Lease and ended with err. It returns why
// the lock may be taken nevertheless. It writes the Lease if it has still that version: then a request of the attempt that is
// still on its way does not find it.
func (b *Backend) takeBack(ctx context.Context, name, owner string, before int64, err error) error {
	if err != nil && fence.OutcomeOf(err) == fence.Definite {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, attempt.Cleanup)
	defer cancel()
	for {
		read, err := b.leases.read(ctx, name)
		if err != nil || read.version != before && read.spec.HolderIdentity != owner {
			return err
		}
		if written, err := b.leases.free(ctx, name, read); err != nil || written {
			return err
		}
	}
}
