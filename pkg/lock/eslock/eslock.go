// Package eslock is a lock.Backend on documents in Elasticsearch or OpenSearch.
//
//	err := eslock.Create(ctx, "http://127.0.0.1:9200")
//	…
//	backend, err := eslock.New("http://127.0.0.1:9200", 10*time.Second)
//
// A scope is the name of a lock. The lock of a scope is a document, whose ID is the scope. The
// document names those that hold the lock, a writer or readers, each with its lease and its
// token. The package changes it only if it is as it was read (if_seq_no, if_primary_term).
// There are no scripts, and no searches: a lock does not wait for a refresh.
//
// # Tokens
//
// The change that grants the lock adds 1 to the token of the document. So tokens are in the
// order of the grants, of readers and writers. The document stays when the lock is free, and
// the token with it: never delete documents of the index. The index grows by a document for
// each scope that was ever locked.
//
// Tokens go back if the index goes back: after a restore of a snapshot, after a crash if the
// index has index.translog.durability: async, or if a shard without a replica is lost. A
// resource then refuses the rightful holder, or admits a stale one.
//
// If somebody deletes the index while a lock is held, Elasticsearch makes an index of that name
// for the holder's next renewal. The tenure is then lost, and no lock is granted in that index:
// delete it, and call Create, if tokens may begin again.
//
// # Leases, and whose clock
//
// Elasticsearch has no leases. A holder renews its lease: every third of the TTL it changes
// the document. Who asks for the lock notes when it has seen the state of each holder first.
// When that has been the same for the TTL of the holder, the holder is gone, and who asks
// takes the lock in its place. All times are differences of times of one clock; no two clocks
// are compared. So a Backend that begins to look at the lock of a dead holder sees it for a
// whole TTL before it takes the lock. It remembers what it has seen from one call to the next,
// of the 10,000 locks that were asked for last.
//
// # What a holder is told, and when
//
// If the document does not name a holder any more, its tenure is lost; a renewal never takes a
// lock again. If no renewal was answered for the TTL, the tenure is cut off (lock.ErrCutOff).
// This time is counted by the holder's clock, from when the holder sent the last request that
// was answered.
//
// # Who waits
//
// A waiter reads the document now and then. The option Poll says how often. Whoever asks first
// when the lock is free gets it, even if others have waited longer. Readers who come and go can
// keep a writer out for ever.
//
// # Who holds a lock
//
// The document has the words of each holder (lock.WithWords), and Inspect tells them. An
// earlier version of this package drops the words when it changes the document, and the next
// renewal of their holder brings them back.
//
// # Errors
//
// Lock and TryLock return the errors of Elasticsearch, and do not wait for its restart. An
// answer of a status from 400 to 499, but for 408 and 429, is definite: after it nothing is left.
package eslock

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/internal/esdoc"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// Backend takes locks in one index. Its tenures have the concrete type *Tenure. It is a
// lock.Sharer, and needs no closing.
type Backend struct {
	index index
	watch *attempt.Watch
	ttl   time.Duration
	poll  time.Duration
	owner func() string
}

var (
	_ lock.Backend   = (*Backend)(nil)
	_ lock.Sharer    = (*Backend)(nil)
	_ lock.Inspector = (*Backend)(nil)
)

// Option is a choice for New and Create.
type Option func(*options)

type options struct {
	index string
	http  *http.Client
	poll  time.Duration
	owner func() string
}

// Index names the index. It is fence-locks without this option.
func Index(name string) Option { return func(o *options) { o.index = name } }

// HTTP is the client that sends the requests, such as one that knows a certificate or adds an
// API key. Without this option it is http.DefaultClient. Redirects are not followed. Its Timeout, if there is one, has to
// be shorter than the TTL.
func HTTP(client *http.Client) Option { return func(o *options) { o.http = client } }

// Poll is how long a waiter pauses between two looks at the lock, on average: it pauses for
// half of that to one and a half. Its first four pauses are shorter, a 16th, an 8th, a quarter
// and a half of that. Without this option it is 100 ms.
func Poll(pause time.Duration) Option { return func(o *options) { o.poll = pause } }

// Owner has new make the names of owners, by which people find out who holds a lock, such as
// the host's name and a random part. No two names may be the same. Without this option a name
// is random.
func Owner(new func() string) Option { return func(o *options) { o.owner = new } }

func choose(address string, some []Option) (options, index, error) {
	o := options{index: "fence-locks", http: http.DefaultClient, poll: 100 * time.Millisecond, owner: rand.Text}
	for _, choice := range some {
		choice(&o)
	}
	if o.poll < time.Millisecond {
		return o, index{}, fence.Definite.New(fmt.Sprintf("eslock: Poll(%v): want 1ms or more", o.poll))
	}
	x, err := esdoc.New(address, o.index, o.http)
	if err != nil {
		return o, index{}, fmt.Errorf("eslock: %w", err)
	}
	return o, index{x}, nil
}

// Create creates the index that New needs, if it is not there. The documents are stored, and
// not indexed for searches.
func Create(ctx context.Context, address string, some ...Option) error {
	_, x, err := choose(address, some)
	if err != nil {
		return err
	}
	if err := x.Create(ctx); err != nil {
		return fmt.Errorf("eslock: %w", err)
	}
	return nil
}

// New returns a backend whose locks outlive a crash of their holder by ttl, which has to be of
// whole milliseconds, and by the time after which somebody looks. A holder may take as long as
// ttl to notice that Elasticsearch cannot be reached.
//
// address is the URL of a node, or of what stands before the nodes, and may have a user and a
// password. The index has to be there: see Create. A scope is UTF-8 of up to 512 bytes.
func New(address string, ttl time.Duration, some ...Option) (*Backend, error) {
	if err := attempt.CheckTTL("eslock", ttl); err != nil {
		return nil, err
	}
	o, x, err := choose(address, some)
	if err != nil {
		return nil, err
	}
	return &Backend{index: x, watch: attempt.NewWatch(), ttl: ttl, poll: o.poll, owner: o.owner}, nil
}

// TryLock is as lock.Backend says. When ctx is done, the methods of Backend take at most 2 s
// more: they wait for the answer to their request, and take back what it has granted.
func (b *Backend) TryLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return b.attempt(ctx, scope, attempt.TryLock)
}

// Lock is as lock.Backend says.
func (b *Backend) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	return b.attempt(ctx, scope, attempt.Lock)
}

// TryRLock is as lock.Sharer says.
func (b *Backend) TryRLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return b.attempt(ctx, scope, attempt.TryRLock)
}

// RLock is as lock.Sharer says.
func (b *Backend) RLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return b.attempt(ctx, scope, attempt.RLock)
}
