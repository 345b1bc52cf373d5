package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

// sides are a kind of lock in a server of this run.
type sides struct {
	*kind
	where string

	once, least result
	passed      map[int]*passing // by how many wait
	freed       []float64        // s, of each crash
}

// comparedWaiters are how many wait for the locks that are handed over.
var comparedWaiters = []int{1, 16}

// compared measures the project's locks in all services, side by side.
func (b *bench) compared() error {
	var list []*sides
	var missing []string
	for _, k := range kinds() {
		where, lacks, err := k.start(b)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", k.name, err)
		case lacks != "":
			missing = append(missing, fmt.Sprintf("Not measured is %s: %s.", k.name, lacks))
			continue
		}
		list = append(list, &sides{kind: k, where: where, passed: make(map[int]*passing)})
	}
	for _, do := range []func([]*sides) error{b.compareOnce, b.comparePassing, b.compareCrashes} {
		if err := do(list); err != nil {
			return err
		}
	}
	t := b.report.table("The locks side by side",
		fmt.Sprintf("All in one run, in turns, each in a server of its own. *lock and unlock*: one client takes a free lock and gives it back at once. *bare*: the requests that a lock takes at the least, and the time of lock and unlock as a part of theirs, of the same round. *hand-over*: as in [Hand-over in Redis](performance.md#hand-over-in-redis), where each has a Backend of its own: p50, and p99 in brackets. *free after a crash*: the holder is a process that has renewed its lease of %v, and gets a SIGKILL; how long it takes until one who waits has the lock: the median of %d crashes, and the shortest and the longest in brackets. ", crashTTL, b.crashes)+strings.Join(missing, " "),
		"lock", "lock and unlock, ms", "bare", "of bare, time", "hand-over, 1 waiter, ms", "hand-over, 16 waiters, ms", "free after a crash, s")
	for _, s := range list {
		row := []string{s.name, number(1000 / spreadOf(s.once.rates).median), s.bareIs, ratios(s.least.rates, s.once.rates).String()}
		for _, waiters := range comparedWaiters {
			all := s.passed[waiters].all
			row = append(row, millis(all, 50)+" ("+millis(all, 99)+")")
		}
		t.add(append(row, fmt.Sprintf("%s (%s to %s)", number(spreadOf(s.freed).median), number(slices.Min(s.freed)), number(slices.Max(s.freed))))...)
	}
	return nil
}

// compareOnce has one client of each lock lock and unlock, and one by the bare requests.
func (b *bench) compareOnce(list []*sides) error {
	var cs []contender
	for _, s := range list {
		backend, end, err := s.open(s.where, lockTTL)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		defer end()
		bare, end, err := s.bare(s.where)
		if err != nil {
			return fmt.Errorf("%s: %w", s.bareIs, err)
		}
		defer end()
		cs = append(cs,
			contender{s.name, alone(onceBy(lockingBy(backend))), nil},
			contender{s.name + ", bare", alone(bare), nil})
	}
	results, err := b.race(cs...)
	for i := range list {
		if err == nil {
			list[i].once, list[i].least = results[2*i], results[2*i+1]
		}
	}
	return err
}

// alone is a contender's turn by one client.
func alone(once func(context.Context) error) func(time.Duration) (int, time.Duration, error) {
	return func(d time.Duration) (int, time.Duration, error) {
		return takeTurn(1, d, func(ctx context.Context, _ int) error { return once(ctx) })
	}
}

// comparePassing has each lock handed over.
func (b *bench) comparePassing(list []*sides) error {
	for _, waiters := range comparedWaiters {
		var ways []*passing
		for _, s := range list {
			s.passed[waiters] = &passing{name: s.name, join: s.relay}
			ways = append(ways, s.passed[waiters])
		}
		if err := b.pass(waiters, ways); err != nil {
			return err
		}
	}
	return nil
}

// relay is of runners that have a Backend each.
func (s *sides) relay(runners int) (*relay, error) {
	var ends []func()
	r := &relay{told: untold{}, close: func() {
		for _, end := range ends {
			end()
		}
	}}
	for range runners {
		backend, end, err := s.open(s.where, lockTTL)
		if err != nil {
			r.close()
			return nil, err
		}
		ends = append(ends, end)
		r.locks = append(r.locks, lockingBy(backend))
	}
	return r, nil
}

// crashTTL is that of the lease of a holder that crashes: etcd gives no shorter one.
const crashTTL = 2 * time.Second

// compareCrashes kills the holder of each lock, those of all locks at the same time: nearly
// all of it is to wait.
func (b *bench) compareCrashes(list []*sides) error {
	for n := range b.crashes {
		var g errgroup.Group
		for _, s := range list {
			g.Go(func() error {
				took, err := b.crash(s, fmt.Sprint("/crash-", n))
				if err != nil {
					return fmt.Errorf("%s: crash: %w", s.name, err)
				}
				s.freed = append(s.freed, took.Seconds())
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// crash kills the holder of a lock, and returns how long it takes until one who waits has it.
func (b *bench) crash(s *sides, scope string) (took time.Duration, err error) {
	holder, err := b.group.Start(roleHold, nil, roleHold, s.name, s.where, scope)
	if err != nil {
		return 0, err
	}
	if line, err := bufio.NewReader(holder.Stdout).ReadString('\n'); line != held+"\n" {
		return 0, errors.Join(err, holder.Ended())
	}
	backend, end, err := s.open(s.where, crashTTL)
	if err != nil {
		return 0, err
	}
	defer end()
	ctx, cancel := context.WithTimeout(context.Background(), turnSlack)
	defer cancel()
	granted := make(chan error, 1)
	var at time.Time
	unlock := func(context.Context) error { return nil }
	go func() {
		var err error
		unlock, err = lockingBy(backend)(ctx, scope)
		at = time.Now()
		granted <- err
	}()
	select { // at any time between two renewals, of which there was one at the least
	case <-time.After(crashTTL + mathrand.N(crashTTL)):
	case err := <-granted:
		return 0, errors.Join(err, errNotOurs)
	}
	killed := time.Now()
	if err := holder.Kill(); err != nil {
		return 0, err
	}
	if err := <-granted; err != nil {
		return 0, err
	}
	return at.Sub(killed), unlock(ctx)
}

// held is what a holder says when it has the lock.
const held = "held"

// holdCommand is a holder that renews its lease until it is killed.
func holdCommand() *cobra.Command {
	return &cobra.Command{
		Use: roleHold + " LOCK WHERE SCOPE", Hidden: true, Args: cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			i := slices.IndexFunc(kinds(), func(k *kind) bool { return k.name == args[0] })
			if i < 0 {
				return fmt.Errorf("there is no lock %q", args[0])
			}
			backend, end, err := kinds()[i].open(args[1], crashTTL)
			if err != nil {
				return err
			}
			defer end()
			tenure, err := backend.Lock(cmd.Context(), args[2])
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), held)
			<-tenure.Done()
			return tenure.Err()
		},
	}
}
