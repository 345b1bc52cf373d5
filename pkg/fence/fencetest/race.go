package fencetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/fencelab/fencelab/pkg/fence"
)

// How hard the races try. A round is some racing requests and a few others: enough
// that a store with a gap between check and operation is caught, few enough for a
// store on a disk.
const (
	raceRounds = 200
	fewRaces   = 100 // rounds of a law about what another law looks at, too
	turnRounds = 25  // at least, of each race of a law that has many
	raceOlder  = 3   // requests of earlier tenures that race the newest one's
)

// A race lets a holder and its predecessors make requests at the same moment, over
// and over. What the holder sees when its request is acknowledged must stay: an
// older request that was checked before and lands after it shows the gap.
type race struct {
	newest, older         string     // what they do
	newestMode, olderMode fence.Mode // of their claims
	otherKey              bool       // the older ones work on another key of the scope
	same                  bool       // the older ones have the token of the mark
	processes             bool       // the older ones ask another process
	first                 bool       // in a scope that nobody has claimed before
	crowd                 int        // how many older ones there are; 0: raceOlder
}

func (r race) olders() int { return cmp.Or(r.crowd, raceOlder) }

func checkAndWriteAreOneStep(ctx context.Context, sub Subject) error {
	return sub.run(ctx, race{newest: opWrite, older: opWrite}, race{newest: opWrite, older: opWrite, same: true})
}

func checkAndDeleteAreOneStep(ctx context.Context, sub Subject) error {
	return sub.run(ctx,
		race{newest: opWrite, older: opDelete},
		race{newest: opDelete, older: opWrite},
		race{newest: opDelete, older: opDelete},
		race{newest: opRead, older: opDelete},
		race{newest: opWrite, older: opDelete, same: true})
}

func checkAndReadAreOneStep(ctx context.Context, sub Subject) error {
	return sub.run(ctx, race{newest: opRead, older: opWrite})
}

func checkAndOlderReadAreOneStep(ctx context.Context, sub Subject) error {
	return sub.run(ctx,
		race{newest: opWrite, older: opRead},
		race{newest: opDelete, older: opRead},
		race{newest: opRead, older: opRead},
		race{newest: opWrite, older: opRead, same: true})
}

func scopeIsOneStep(ctx context.Context, sub Subject) error {
	return sub.run(ctx, race{newest: opWrite, older: opWrite, otherKey: true}, race{newest: opWrite, older: opDelete, otherKey: true})
}

func firstClaimsAreOneStep(ctx context.Context, sub Subject) error {
	return sub.run(ctx, race{newest: opWrite, older: opWrite, first: true})
}

func firstClaimsOfAllAreOneStep(ctx context.Context, sub Subject) error {
	return sub.runRounds(ctx, fewRaces,
		race{newest: opRead, older: opWrite, first: true},
		race{newest: opWrite, older: opDelete, first: true},
		race{newest: opDelete, older: opWrite, first: true},
		race{newest: opWrite, older: opRead, first: true},
		race{newest: opDelete, older: opDelete, first: true},
		race{newest: opRead, older: opDelete, first: true},
		race{newest: opDelete, older: opRead, first: true},
		race{newest: opRead, older: opRead, first: true})
}

func processesShareTheStep(ctx context.Context, sub Subject) error {
	return sub.run(ctx,
		race{newest: opWrite, older: opWrite, processes: true},
		race{newest: opWrite, older: opWrite, same: true, processes: true})
}

func processesShareEveryStep(ctx context.Context, sub Subject) error {
	return sub.run(ctx,
		race{newest: opDelete, older: opWrite, processes: true},
		race{newest: opWrite, older: opDelete, processes: true},
		race{newest: opRead, older: opWrite, processes: true},
		race{newest: opWrite, older: opRead, processes: true},
		race{newest: opDelete, older: opDelete, processes: true},
		race{newest: opRead, older: opDelete, processes: true},
		race{newest: opDelete, older: opRead, processes: true},
		race{newest: opRead, older: opRead, processes: true})
}

func processesShareEveryScopeStep(ctx context.Context, sub Subject) error {
	return sub.runRounds(ctx, fewRaces,
		race{newest: opWrite, older: opWrite, first: true, processes: true},
		race{newest: opWrite, older: opDelete, first: true, processes: true},
		race{newest: opWrite, older: opRead, first: true, processes: true},
		race{newest: opRead, older: opWrite, first: true, processes: true},
		race{newest: opWrite, older: opWrite, otherKey: true, processes: true},
		race{newest: opWrite, older: opDelete, otherKey: true, processes: true})
}

func (sub Subject) run(ctx context.Context, races ...race) error {
	return sub.runRounds(ctx, raceRounds, races...)
}

func (sub Subject) runRounds(ctx context.Context, rounds int, races ...race) error {
	return sub.turns(ctx, max(rounds, turnRounds*len(races)), races...)
}

// turns lets the races take turns, and, where there are several, the processes as well. The races agree on processes, and on
// how many older ones there are. A race for which the store has no such request is left out, unless all are.
func (sub Subject) turns(ctx context.Context, rounds int, races ...race) error {
	one := begin(ctx, sub.open)
	two, err := one, one.err
	if races[0].processes {
		two, err = sub.beginSecond(ctx, one)
	}
	if err != nil {
		return err
	}
	for round := range rounds {
		at := round % len(races)
		newest := fence.Token((round + 1) * (races[0].olders() + 2))
		err := races[at].round(ctx, one.store, two.store, round/len(races), newest)
		switch {
		case errors.Is(err, ErrNotApplicable) && len(races) > 1:
			races = slices.Delete(slices.Clone(races), at, at+1)
		case err != nil:
			return fmt.Errorf("round %d: %w", round, err)
		}
		if len(races) > 1 && (round+1)%len(races) == 0 {
			one, two = two, one
		}
	}
	return nil
}

// atOnce has n others run at the same moment as one, and returns when all are done. Which of them runs first depends on the
// order in which they are made, so the place of the one changes from turn to turn, by steps that are long for a crowd.
func atOnce(turn, n int, one func(), others func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for place := range n + 1 {
		if place == turn*5%(n+1) {
			wg.Go(func() { <-start; one() })
		}
		if place < n {
			wg.Go(func() { <-start; others(place) })
		}
	}
	close(start)
	wg.Wait()
}

// round is one race. The key that the older ones work on is the one to watch.
func (r race) round(ctx context.Context, one, two Store, turn int, newest fence.Token) error {
	scope := lock
	if r.first {
		scope = fmt.Sprintf("%s-%d", lock, newest)
	}
	own, watched := scope, scope
	if r.otherKey {
		watched = lock2
	}
	claim := func(t fence.Token, mode fence.Mode) fence.Claim {
		return fence.Claim{Scope: scope, Token: t, Mode: mode}
	}
	before, old := newest-fence.Token(r.olders())-1, "" // after the round before
	olderToken := func(i int) fence.Token {
		if r.same {
			return before
		}
		return newest - fence.Token(i) - 1
	}
	if !r.first {
		old = "before the race"
		if err := one.Write(ctx, claim(before, fence.Exclusive), watched, old); err != nil {
			return fmt.Errorf("write with token %d: %w", before, err)
		}
	}
	var (
		seen  string
		first error
		older = make([]struct {
			read string
			err  error
		}, r.olders())
	)
	atOnce(turn, len(older), func() {
		if seen, first = request(ctx, one, r.newest, claim(newest, r.newestMode), own); first == nil && r.newest != opRead {
			seen, _, first = one.Read(ctx, claim(0, fence.Exclusive), watched)
		}
	}, func(i int) {
		older[i].read, older[i].err = request(ctx, two, r.older, claim(olderToken(i), r.olderMode), watched)
	})
	if first != nil {
		return fmt.Errorf("racing %s with token %d: %w", r.newest, newest, first)
	}
	there := []string{old} // what may be there, where the newest one leaves it as it is
	for i, o := range older {
		switch token := olderToken(i); {
		case o.err != nil && !errors.Is(o.err, fence.ErrStale):
			return fmt.Errorf("racing %s with token %d: %w", r.older, token, o.err)
		case o.err == nil && r.older == opRead && o.read != old:
			return fmt.Errorf("a read with token %d was admitted, and returned what came after the %s with token %d: %q, want %q",
				token, r.newest, newest, o.read, old)
		case o.err == nil && r.older == opWrite:
			there = append(there, token.String())
		case o.err == nil && r.older == opDelete:
			there = append(there, "")
		}
	}
	last, _, err := one.Read(ctx, claim(0, fence.Exclusive), watched)
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	want := seen
	switch {
	case r.newest == opDelete:
		want = ""
	case r.newest == opWrite && !r.otherKey:
		want = newest.String()
	case !slices.Contains(there, seen):
		return fmt.Errorf("with the %s with token %d raced a %s, which was refused as stale, and done: %s is %q, want one of %q",
			r.newest, newest, r.older, watched, seen, there)
	}
	if last != want {
		return fmt.Errorf("the %s with token %d was acknowledged, and then a %s with an older token, checked before it, landed: %s became %q, want %q",
			r.newest, newest, r.older, watched, last, want)
	}
	if err := two.Write(ctx, claim(newest-1, fence.Exclusive), watched, "stale"); !errors.Is(err, fence.ErrStale) {
		text := fmt.Sprintf("after the %s with token %d a write with %d: got %v, want it refused as stale", r.newest, newest, newest-1, err)
		return unwanted(text, err)
	}
	return nil
}

// A crowd has fewer rounds, the larger it is.
const (
	crowdWrites = 640
	fewRounds   = 9
	manyRounds  = 20
)

func (sub Subject) crowd() int { return cmp.Or(sub.Crowd, defaultCrowd) }

func crowdRounds(crowd int) int { return min(manyRounds, max(fewRounds, crowdWrites/crowd)) }

// crowdOfAllIsOneStep has many delete or read at the same moment as a newer one writes.
func crowdOfAllIsOneStep(ctx context.Context, sub Subject) error {
	n := sub.crowd() - 1
	return sub.turns(ctx, 2*crowdRounds(n+1),
		race{newest: opWrite, older: opDelete, crowd: n},
		race{newest: opWrite, older: opRead, crowd: n})
}

// crowdIsOneStep has many write at the same moment.
func crowdIsOneStep(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	s.write(claim(1), lock, "1", admitted)
	crowd := sub.crowd()
	for round := range crowdRounds(crowd) {
		first := fence.Token(2 + round*crowd)
		if s.err == nil {
			s.err = sub.crowdRound(ctx, s.store, first, dealt(round, crowd))
		}
		highest := first + fence.Token(crowd) - 1
		s.read(unfenced, lock, highest.String(), admitted)
		s.write(claim(highest-1), lock, "stale", fence.ErrStale)
	}
	return s.err
}

// dealt are the tokens of a crowd in a round, counted from the round's first one. In every third round each has its own.
// In the others all but one are of one tenure: a store admits them, in whatever order, until their successor comes.
func dealt(round, crowd int) []int {
	tokens := make([]int, crowd)
	if round%3 > 0 {
		tokens[crowd/2] = crowd - 1
		return tokens
	}
	for i := range tokens {
		tokens[i] = (i + round) % crowd // who has the lowest one changes, as some begin sooner
	}
	return tokens
}

// crowdRound returns an error where one of them is acknowledged, and then reads what an older
// one wrote.
func (sub Subject) crowdRound(ctx context.Context, s Store, first fence.Token, tokens []int) error {
	start, errs, landed := make(chan struct{}), make([]error, len(tokens)), make([]error, len(tokens))
	var prepared, done sync.WaitGroup
	for i, n := range tokens {
		c := claim(first + fence.Token(n))
		prepared.Add(1)
		done.Go(func() {
			finish, err := sub.prepare(ctx, s, c)
			prepared.Done()
			<-start
			if err == nil {
				err = finish()
			}
			if errors.Is(err, fence.ErrStale) && n < len(tokens)-1 || err == nil && n == 0 { // nobody's token is lower
				return
			}
			var text string
			if err == nil {
				text, _, err = s.Read(ctx, unfenced, lock)
			}
			var last fence.Token
			if err == nil {
				last, err = fence.ParseToken(text)
			}
			one := fmt.Sprintf("one of %d writes at once, with token %d", len(tokens), c.Token)
			switch {
			case err != nil:
				errs[i] = fmt.Errorf("%s: %w", one, err)
			case last < c.Token:
				landed[i] = fmt.Errorf("%s: it was acknowledged, and the value is then that of token %d", one, last)
			}
		})
	}
	if sub.Prepare != nil { // else some begin sooner than others, which a gap may need
		prepared.Wait()
	}
	close(start)
	done.Wait()
	return cmp.Or(errors.Join(landed...), errors.Join(errs...))
}

// prepare is the part of a write with its token as the value that comes before all writes of a crowd.
func (sub Subject) prepare(ctx context.Context, s Store, c fence.Claim) (finish func() error, err error) {
	if sub.Prepare != nil {
		return sub.Prepare(ctx, s.(patient).Store, c, lock, c.Token.String())
	}
	return func() error { return s.Write(ctx, c, lock, c.Token.String()) }, nil
}

// What a request does.
const (
	opWrite  = "write"
	opDelete = "delete"
	opRead   = "read"
)

// request does op; a write has the token as its value.
func request(ctx context.Context, s Store, op string, c fence.Claim, key string) (value string, err error) {
	switch op {
	case opWrite:
		return "", s.Write(ctx, c, key, c.Token.String())
	case opDelete:
		return "", s.Delete(ctx, c, key)
	}
	value, _, err = s.Read(ctx, c, key)
	return value, err
}
