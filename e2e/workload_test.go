package e2e

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencelab/fencelab/internal/judge/linear"
)

// workloadConfig says how many clients use what.
type workloadConfig struct {
	URLs    []string // of the storages; each client uses all of them, at random
	Clients int
	Seed    uint64        // of the clients' choices; what comes of them also depends on the machine
	Timeout time.Duration // after which a client gives an operation up
}

// workload is clients at work, which make a history for package linear: they use a few keys of
// a few locks at random, some with tokens that they should have given up, while somebody else
// does harm to the storage.
type workload struct {
	config  workloadConfig
	began   time.Time
	issued  atomic.Int64 // the last token
	stop    chan struct{}
	stopped sync.Once
	clients sync.WaitGroup

	mu      sync.Mutex
	ended   int           // attempts that are over, also those that are no part of the history
	news    chan struct{} // closed and replaced when ended grows
	history []linear.Op
	faults  []linear.Fault
}

// startWorkload sets the clients to work, until Stop.
func startWorkload(c workloadConfig) *workload {
	l := &workload{config: c, began: time.Now(), stop: make(chan struct{}), news: make(chan struct{})}
	for i := range c.Clients {
		l.clients.Go(func() { l.work(i) })
	}
	return l
}

// Await waits until n more attempts are over, of whatever outcome: that is how
// time is told here.
func (l *workload) Await(ctx context.Context, n int) error {
	l.mu.Lock()
	until := l.ended + n
	for l.ended < until {
		news := l.news
		l.mu.Unlock()
		select {
		case <-news:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %d attempts: %w", n, context.Cause(ctx))
		}
		l.mu.Lock()
	}
	l.mu.Unlock()
	return nil
}

// Fault does harm and remembers when, for the picture.
func (l *workload) Fault(name string, do func() error) error {
	f := linear.Fault{Name: name, Start: l.now()}
	err := do()
	f.End = l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, f)
	return err
}

// Quit lets the clients come to their ends. It may be called again.
func (l *workload) Quit() {
	l.stopped.Do(func() { close(l.stop) })
	l.clients.Wait()
}

// Stop lets the clients come to their ends, reads all keys and marks once more,
// from each storage, and returns what there was in the order of the calls.
func (l *workload) Stop(ctx context.Context) ([]linear.Op, []linear.Fault) {
	l.Quit()
	for _, url := range l.config.URLs {
		s := newStore(url)
		defer s.close()
		for i := range scopes {
			l.attempt(ctx, l.config.Clients, s, linear.Input{Kind: linear.Mark, Scope: scope(i)})
			for j := range keys {
				l.attempt(ctx, l.config.Clients, s, linear.Input{Kind: linear.Read, Scope: scope(i), Key: key(i, j)})
			}
		}
	}
	slices.SortFunc(l.history, func(a, b linear.Op) int { return cmp.Compare(a.Call, b.Call) })
	return l.history, l.faults
}

func (l *workload) now() int64 { return int64(time.Since(l.began)) }

// pace is how long a client waits when nobody serves it.
const pace = 2 * time.Millisecond

func (l *workload) work(id int) {
	var stores []store
	for _, url := range l.config.URLs {
		s := newStore(url)
		defer s.close()
		stores = append(stores, s)
	}
	c := newChooser(id, rand.New(rand.NewPCG(l.config.Seed, uint64(id))), func() int64 { return l.issued.Add(1) })
	for {
		select {
		case <-l.stop:
			return
		default:
		}
		in := c.next()
		ctx, cancel := context.WithTimeout(context.Background(), l.config.Timeout)
		out, happened := l.attempt(ctx, id, stores[c.rand.IntN(len(stores))], in)
		cancel()
		if !happened {
			select {
			case <-l.stop:
			case <-time.After(pace):
			}
		}
		c.learn(in, out)
	}
}

// attempt does an operation and takes it into the history.
func (l *workload) attempt(ctx context.Context, client int, s store, in linear.Input) (linear.Output, bool) {
	op := linear.Op{Client: client, Input: in, Call: l.now()}
	out, happened := s.do(ctx, in)
	op.Output, op.Return = out, l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if happened {
		l.history = append(l.history, op)
	}
	l.ended++
	close(l.news)
	l.news = make(chan struct{})
	return out, happened
}
