package locktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// Races, and what is asked of their grants.

// span is a tenure that is known to have been current from begin to end, in
// the order of one counter.
type span struct {
	asked      fence.Mode // by the taker, whatever the grant says
	grant      lock.Grant
	begin, end int64
}

// rounds is how often each client has the lock in a race.
const rounds = 5

// taking is a call that takes the lock, or waits for it.
type taking struct {
	mode fence.Mode
	call func() (lock.Tenure, error)
}

// race lets some take the lock in turns as they can get it, each some times. It
// returns all grants' begins and, of those that were current until they were
// released, the spans. On a machine so slow that a lease ran out, a tenure ends
// early by right, and the end of its span is not known.
func (t *trial) race(rounds int, takers ...taking) (begins, spans []span, err error) {
	var (
		counter atomic.Int64
		mu      sync.Mutex
		group   sync.WaitGroup
		errs    []error
	)
	turn := func(take taking) error {
		tenure, err := take.call()
		if err != nil {
			return err
		}
		s := span{asked: take.mode, grant: tenure.Grant(), begin: counter.Add(1)}
		// Stands for no event: it gives a second holder time to come in, which may leave first.
		time.Sleep(t.TTL/200 + rand.N(t.TTL/100))
		s.end = counter.Add(1)
		err = t.unlock(tenure)
		mu.Lock()
		defer mu.Unlock()
		begins = append(begins, s)
		if err == nil {
			spans = append(spans, s)
		} else if !errors.Is(err, lock.ErrLost) {
			return err
		}
		return nil
	}
	for _, take := range takers {
		group.Go(func() {
			for range rounds {
				if err := turn(take); err != nil {
					mu.Lock()
					defer mu.Unlock()
					errs = append(errs, err)
					return
				}
			}
		})
	}
	group.Wait()
	return begins, spans, errors.Join(errs...)
}

// threeRace is a race of the three clients.
func (t *trial) threeRace() (begins, spans []span, err error) {
	return t.race(rounds, t.locking(t.a), t.locking(t.b), t.locking(t.c))
}

// locking and reading wait longer than lock does: others come before.
func (t *trial) locking(c Client) taking { return t.patiently(fence.Exclusive, c.Lock) }

func (t *trial) reading(c Client) taking { return t.patiently(fence.Shared, sharer(c).RLock) }

// waitingFor waits for as long as ctx lasts.
func waitingFor(ctx context.Context, c Client, scope string) taking {
	return taking{call: func() (lock.Tenure, error) { return c.Lock(ctx, scope) }}
}

func (t *trial) patiently(mode fence.Mode, from func(context.Context, string) (lock.Tenure, error)) taking {
	return taking{mode, func() (lock.Tenure, error) { return t.within(4*t.bound(), from, t.scope) }}
}

// apart is nil if none of the spans has another grant's begin in it that it excludes.
func apart(begins, spans []span) error {
	for _, s := range spans {
		for _, o := range begins {
			if s.begin < o.begin && o.begin < s.end && s.excludes(o) {
				return fmt.Errorf("%+v was granted before %+v was released", o.grant, s.grant)
			}
		}
	}
	return nil
}

func (s span) excludes(o span) bool { return s.asked == fence.Exclusive || o.asked == fence.Exclusive }

// inTurn is nil if the tokens of spans that exclude each other grow in their order.
func (t *trial) inTurn(spans []span) error {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.begin, b.begin) })
	for i, after := range spans {
		for _, before := range spans[:i] {
			if !before.excludes(after) {
				continue
			}
			if err := t.grow(before.grant, after.grant); err != nil {
				return err
			}
		}
	}
	return nil
}

// owners are those of the grants that a law has seen.
type owners map[string]lock.Grant

// see is nil if no other grant has the owner of this one.
func (o owners) see(g lock.Grant) error {
	if before, known := o[g.Owner]; known {
		return fmt.Errorf("%+v and %+v have the same owner", before, g)
	}
	o[g.Owner] = g
	return nil
}

func oneTenure(t *trial) error {
	begins, spans, err := t.threeRace()
	if err != nil {
		return err
	}
	return apart(begins, spans)
}

// clientRacesItself has several parts of one client wait at once.
func clientRacesItself(t *trial) error {
	// Where all share one tenure, one of them can release it, and only a span of its is known.
	begins, spans, err := t.race(4*rounds, t.locking(t.a), t.locking(t.a), t.locking(t.a))
	if err != nil {
		return err
	}
	return apart(begins, spans)
}

// oneEach is nil if no two grants have the same owner.
func oneEach(begins []span) error {
	seen := make(owners)
	for _, b := range begins {
		if err := seen.see(b.grant); err != nil {
			return err
		}
	}
	return nil
}

// contenders is how many there are where there are many.
const contenders = 40

func manyContenders(t *trial) error {
	begins, spans, err := t.contend(func(_ int, c Client) taking { return t.locking(c) })
	if err != nil {
		return err
	}
	return errors.Join(oneEach(begins), apart(begins, spans), t.inTurn(spans))
}

// contend has many clients take the lock at once.
func (t *trial) contend(take func(i int, c Client) taking) (begins, spans []span, err error) {
	more, leave, err := t.crowd(contenders - 3)
	if err != nil {
		return nil, nil, err
	}
	defer leave()
	var takers []taking
	for i, c := range append(more, t.a, t.b, t.c) {
		takers = append(takers, take(i, c))
	}
	return t.race(1, takers...)
}

func tokensRacing(t *trial) error {
	_, spans, err := t.threeRace()
	if err != nil {
		return err
	}
	return t.inTurn(spans)
}
