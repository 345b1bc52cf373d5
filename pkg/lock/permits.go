package lock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Permits returns a Backend on b by which a scope has n holders at most. The scope has n
// slots, and each slot is an exclusive lock of b: those of "/pool" are "/pool/1" to
// "/pool/n". A grant names the slot that it is of. All who share the scope give the same n.
//
// Tokens of one lock cannot tell n living holders from each other: the fence would refuse all
// but the latest. Therefore each slot has tokens of its own, and a holder shows its claim to
// what belongs to its slot: connection 3, shard 3, the file of worker 3. The next holder of
// the slot shuts the earlier one out there. A resource that all holders write keeps a mark for
// each slot, and refuses the claims of scopes that are no slots: it then shuts out the earlier
// holders of each slot. No token tells the order of two slots' holders.
//
// TryLock tries the slots one after the other, beginning anywhere, and returns ErrLocked where
// all are taken. Lock does that too, and then waits for all slots at once: it has a place in n
// queues, takes the first slot that is granted, and leaves the others. Where a second slot is
// granted at the same moment, Lock frees it at once. So whoever waits in a fair queue gets a
// slot in its turn. If one of the queues fails, Lock fails.
//
// If the service does not answer while Lock leaves the other queues, a slot may be taken by
// nobody, for the TTL.
func Permits(b Backend, n int) Backend { return &permits{b, n} }

type permits struct {
	backend Backend
	n       int
}

// slot is the scope of a slot, counted from 0.
func slot(scope string, i int) string { return scope + "/" + strconv.Itoa(i+1) }

func (p *permits) TryLock(ctx context.Context, scope string) (Tenure, error) {
	if p.n < 1 {
		return nil, fence.Definite.New(fmt.Sprintf("lock: %d permits of %q, want one or more", p.n, scope))
	}
	begin := rand.N(p.n)
	for i := range p.n {
		t, err := p.backend.TryLock(ctx, slot(scope, (begin+i)%p.n))
		if !errors.Is(err, ErrLocked) {
			return t, err
		}
	}
	return nil, fmt.Errorf("lock: %d permits of %q: %w", p.n, scope, ErrLocked)
}

func (p *permits) Lock(ctx context.Context, scope string) (Tenure, error) {
	if t, err := p.TryLock(ctx, scope); !errors.Is(err, ErrLocked) {
		return t, err
	}
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	var (
		queues  sync.WaitGroup
		granted = make(chan Tenure, 1) // the first one
		failed  = make(chan error, p.n)
	)
	for i := range p.n {
		queues.Go(func() {
			defer leave()
			t, err := p.backend.Lock(ctx, slot(scope, i))
			if err != nil {
				failed <- err
				return
			}
			select {
			case granted <- t:
			default:
				_ = release(ctx, t) // if this fails, the slot is free within its TTL
			}
		})
	}
	queues.Wait()
	select {
	case t := <-granted:
		return t, nil
	default:
		return nil, firstOf(failed)
	}
}

// firstOf joins the first error with those of the others that say that something may be left
// in the service.
func firstOf(failed chan error) error {
	first := <-failed
	close(failed)
	for err := range failed {
		if unknown := new(UnknownError); errors.As(err, &unknown) {
			first = join(first, err)
		}
	}
	return first
}
