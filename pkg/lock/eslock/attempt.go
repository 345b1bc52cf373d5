package eslock

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/internal/esdoc"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

var errZero = fence.Definite.New("eslock: this Backend was not made by New")

// attempt makes one attempt, or waits.
func (b *Backend) attempt(ctx context.Context, scope string, how attempt.Way) (lock.Tenure, error) {
	if b.index.Index == nil {
		return nil, errZero
	}
	if err := esdoc.CheckScope(scope); err != nil {
		return nil, fmt.Errorf("eslock: %s: %w", how.Op, err)
	}
	tenure, left, err := attempt.Stand(how, func() (*Tenure, error, error) {
		return b.stand(ctx, lock.Grant{Scope: scope, Owner: b.owner(), Mode: how.Mode}, how.Wait)
	})
	if err != nil {
		return nil, attempt.Attempt{Package: "eslock", Way: how, Scope: scope}.Failed(ctx, err, "the lock may be taken", left)
	}
	return tenure, nil
}

// stand asks for the lock until it is granted or, without wait, once. left is why the lock
// may be taken in spite of the error.
func (b *Backend) stand(ctx context.Context, g lock.Grant, wait bool) (_ *Tenure, left, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	late, stop := attempt.Afterwards(ctx)
	defer stop()
	poll := attempt.Poll{Every: b.poll}
	for {
		asked := time.Now()
		r, granted, err := b.take(late, &g, lock.Words(ctx))
		until := asked.Add(b.ttl)
		switch {
		case err != nil:
			return nil, b.takeBack(late, g, err), err
		case granted && ctx.Err() == nil && time.Now().Before(until):
			return b.newTenure(g, lock.Words(ctx), r, until), nil, nil
		case granted: // and nobody wants it any more, or the answer took as long as the lease
			return nil, b.takeBack(late, g, nil), attempt.ErrLate
		case !wait:
			return nil, nil, lock.ErrLocked
		}
		if err := attempt.Sleep(ctx, poll.Pause()); err != nil {
			return nil, nil, err
		}
	}
}

var errNotMade = fence.Definite.New("the index was not made by Create: Elasticsearch makes one by itself when somebody has deleted it while a lock was held, and tokens would begin again")

// take takes the lock if no holder is in its way, and notes the token in the grant. A write that something on the way sends
// twice takes the lock, and is refused; the document tells, and without it nobody knows.
func (b *Backend) take(ctx context.Context, g *lock.Grant, words string) (record, bool, error) {
	for refused := false; ; refused = true {
		asked := time.Now()
		read, err := b.index.read(ctx, g.Scope)
		if err != nil && refused {
			err = fence.Unknown.Wrap(err)
		}
		if err != nil {
			return record{}, false, err
		}
		if !read.Found { // nobody has ever taken the lock, or the index is another one
			if made, err := b.index.Created(ctx); err != nil || !made {
				return record{}, false, cmp.Or(err, errNotMade)
			}
		}
		if i := read.find(g.Owner); i >= 0 && read.Holders[i].Token == g.Token { // a write was refused because of itself
			return read, true, nil
		}
		now := document{Token: read.Token + 1, Holders: b.alive(g.Scope, read.Holders, asked)}
		for _, h := range now.Holders {
			if h.Mode != fence.Shared || g.Mode != fence.Shared {
				return record{}, false, nil
			}
		}
		g.Token = now.Token
		now.Holders = append(now.Holders, holder{
			Owner: g.Owner, Token: g.Token, Mode: g.Mode, TTL: b.ttl.Milliseconds(), Words: words,
		})
		left, written, err := b.index.write(ctx, g.Scope, read, now)
		if err != nil || written {
			return left, written, err
		}
	}
}

// alive are the holders of a lock, asked for at a time, whose leases may go on.
func (b *Backend) alive(scope string, holders []holder, asked time.Time) (list []holder) {
	signs := make([]attempt.Sign, len(holders))
	for i, h := range holders {
		signs[i] = attempt.Sign{Owner: h.Owner, State: h.Renewals, TTL: h.ttl()}
	}
	owners := b.watch.Alive(scope, signs, asked)
	for _, h := range holders {
		if slices.Contains(owners, h.Owner) {
			list = append(list, h)
		}
	}
	return list
}

// takeBack frees the lock that an attempt may have, which ended with err. It returns why the
// lock may be taken nevertheless. It changes the document in any case: then a request of the
// attempt that is still on its way does not find the document as it was read. A document that somebody else has changed
// meanwhile is left as it is, if nothing of the attempt is in it.
func (b *Backend) takeBack(ctx context.Context, g lock.Grant, err error) error {
	if err != nil && fence.OutcomeOf(err) == fence.Definite {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, attempt.Cleanup)
	defer cancel()
	moved := false
	_, _, left := b.index.change(ctx, g.Scope, record{}, func(d *document) bool {
		changes := d.remove(g.Owner) || d.Token < g.Token || !moved
		d.Token = max(d.Token, g.Token)
		moved = true
		return changes
	})
	return left
}
