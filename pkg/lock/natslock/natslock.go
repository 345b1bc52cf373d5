// Package natslock is a lock.Backend on the keys of a bucket in NATS JetStream.
//
//	conn, err := nats.Connect("nats://127.0.0.1:4222")
//	…
//	js, err := jetstream.New(conn)
//	…
//	err = natslock.Create(ctx, js)
//	…
//	backend, err := natslock.New(ctx, js, 10*time.Second)
//
// A scope is the name of a lock. The lock of a scope is a key of the bucket, which has a time to
// live of its own, and its value names the holder. The package writes a key only if it
// knows the key's last revision. NATS 2.11 or later is needed: earlier ones know no time to
// live of a key.
//
// # Tokens
//
// The token of a tenure is the revision with which its key was made. The revisions of a bucket
// are the numbers of its stream: each change of any key has the next one. So tokens are in the
// order of the grants, and those of one lock have gaps. They go on where a key expires or is
// deleted. They begin again where the bucket is deleted, or where its servers lose the stream: a
// bucket in memory loses it with a restart, one with one replica with its disk. By default a
// server has its disk write what it has stored every two minutes (sync_interval): what was
// granted since then is lost if the machine itself stops.
//
// # Leases, and whose clock
//
// The servers end a lease by their clock. A holder renews its lease every third of the TTL. It
// writes the key anew, with another time to live: KeyValue.Update of the client would write it
// without one.
//
// # What a holder is told, and when
//
// If a renewal finds another revision, which is no earlier renewal's, the tenure is lost; a renewal
// never takes a lock again. If no renewal was answered for the TTL, the tenure is cut off
// (lock.ErrCutOff). This time is counted by the holder's clock, from when the holder sent the last
// request that was answered.
//
// # Who waits
//
// A waiter watches the key, and asks for the lock when the key ends. It also asks once in a TTL.
// Whoever asks first when the lock is free gets it, even if others have waited longer.
//
// # Who holds a lock
//
// The key's value has the words of the holder (lock.WithWords), and Inspect tells them.
//
// # Errors
//
// Lock and TryLock return the errors of NATS, and do not wait for its restart. What the server
// refused is definite. After any other error the package ends what its request may have made, and
// keeps a copy of the request that is still on its way from making it later. The error is
// lock.UnknownError where that was not possible.
//
// By default a connection of NATS that is lost keeps requests, and sends them when it is there
// again. Connect with nats.ReconnectBufSize(-1): then a request without a connection fails at
// once, and nothing is sent late.
package natslock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/internal/scopekey"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// Backend takes locks in one bucket. Its tenures have the concrete type *Tenure. It needs no closing.
type Backend struct {
	bucket *bucket
	ttl    time.Duration
}

var (
	_ lock.Backend   = (*Backend)(nil)
	_ lock.Inspector = (*Backend)(nil)
)

// Option is a choice for New and Create.
type Option func(*options)

type options struct {
	bucket   string
	replicas int
}

// Bucket names the bucket. It is fence-locks without this option.
func Bucket(name string) Option { return func(o *options) { o.bucket = name } }

// Replicas is on how many servers Create keeps the bucket: 1, 3 or 5. It is 1 without this option,
// and then the locks are gone with one disk.
func Replicas(n int) Option { return func(o *options) { o.replicas = n } }

func choose(some []Option) options {
	o := options{bucket: "fence-locks", replicas: 1}
	for _, choice := range some {
		choice(&o)
	}
	return o
}

// markers is for how long the bucket knows that a key has ended. A request that is held up for longer can find no trace of
// what came after it.
const markers = time.Minute

// Create creates the bucket that New needs, in files, if it is not there. The bucket is for locks alone.
func Create(ctx context.Context, js jetstream.JetStream, some ...Option) error {
	if js == nil {
		return errNoNATS
	}
	ctx, cancel := context.WithTimeout(ctx, longAnswer)
	defer cancel()
	o := choose(some)
	_, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: o.bucket, Description: "locks of fencelab's natslock", LimitMarkerTTL: markers, Replicas: o.replicas,
	})
	if err != nil && !errors.Is(err, jetstream.ErrBucketExists) {
		return fmt.Errorf("natslock: the bucket %s: %w", o.bucket, err)
	}
	return nil
}

// New returns a backend whose locks outlive a crash of their holder by ttl, which has to be of whole seconds: NATS
// knows no shorter ones. A holder may take as long as ttl to notice that NATS cannot be reached.
//
// The bucket has to be there: see Create. A scope has 1 to 1,000 bytes.
func New(ctx context.Context, js jetstream.JetStream, ttl time.Duration, some ...Option) (*Backend, error) {
	if js == nil {
		return nil, errNoNATS
	}
	if ttl < time.Second || ttl%time.Second != 0 {
		return nil, fence.Definite.New(fmt.Sprintf("natslock: a TTL of %v, want whole seconds, 1s or more", ttl))
	}
	b, err := openBucket(ctx, js, choose(some).bucket, ttl)
	if err != nil {
		return nil, fmt.Errorf("natslock: %w", err)
	}
	return &Backend{b, ttl}, nil
}

var errNoNATS = fence.Definite.New("natslock: the JetStream is nil")

// TryLock is as lock.Backend says. When ctx is done, TryLock and Lock take at most 2 s more: they
// wait for the answer to their request, and take back what it has granted.
func (b *Backend) TryLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return b.attempt(ctx, scope, attempt.TryLock)
}

// Lock is as lock.Backend says.
func (b *Backend) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	return b.attempt(ctx, scope, attempt.Lock)
}

var errZero = fence.Definite.New("natslock: this Backend was not made by New")

// attempt makes one attempt, or waits.
func (b *Backend) attempt(ctx context.Context, scope string, how attempt.Way) (lock.Tenure, error) {
	if b.bucket == nil {
		return nil, errZero
	}
	name, err := scopekey.Of(scope)
	if err != nil {
		return nil, fmt.Errorf("natslock: %s: %w", how.Op, err)
	}
	tenure, left, err := attempt.Stand(how, func() (*Tenure, error, error) {
		return b.stand(ctx, scope, name, holder{Owner: rand.Text(), Words: lock.Words(ctx)}, how.Wait)
	})
	if err != nil {
		return nil, attempt.Attempt{Package: "natslock", Way: how, Scope: scope}.Failed(ctx, err, "the lock may be taken", left)
	}
	return tenure, nil
}

// stand asks for the lock until it is granted or, without wait, once. left is why the lock may be
// taken in spite of the error.
func (b *Backend) stand(ctx context.Context, scope, key string, h holder, wait bool) (_ *Tenure, left, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	late, stop := attempt.Afterwards(ctx)
	defer stop()
	waiting, over := context.WithCancel(ctx)
	defer over()
	var news <-chan struct{}
	for {
		asked := time.Now()
		made, last, err := b.bucket.make(late, key, h, b.ttl)
		until := asked.Add(b.ttl)
		granted := err == nil && made > 0
		switch {
		case granted && ctx.Err() == nil && time.Now().Before(until):
			return b.newTenure(lock.Grant{Scope: scope, Owner: h.Owner, Token: fence.Token(made)}, key, h, until), nil, nil
		case granted: // and nobody wants it any more, or the answer took as long as the lease
			return nil, b.bucket.end(late, key, h.Owner, last), attempt.ErrLate
		case err != nil && fence.OutcomeOf(err) == fence.Definite:
			return nil, nil, err
		case err != nil:
			return nil, b.bucket.end(late, key, h.Owner, last), err
		case !wait:
			return nil, nil, lock.ErrLocked
		}
		if news == nil {
			if news, err = b.bucket.ends(waiting, key); err != nil {
				return nil, nil, err
			}
			continue // the key may have ended before
		}
		select {
		case <-news:
		case <-time.After(b.ttl): // what was told may be lost
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// Inspect is as lock.Inspector says. NATS tells neither who waits nor how long a lease lasts.
func (b *Backend) Inspect(ctx context.Context, scope string) (lock.State, error) {
	if b.bucket == nil {
		return lock.State{}, errZero
	}
	name, err := scopekey.Of(scope)
	if err != nil {
		return lock.State{}, fmt.Errorf("natslock: inspect: %w", err)
	}
	last, err := b.bucket.read(ctx, name)
	if err != nil {
		return lock.State{}, fence.Definite.Wrap(fmt.Errorf("natslock: inspect %q: %w", scope, err))
	}
	var state lock.State
	if last.Owner != "" {
		state.Holders = []lock.Party{{Grant: lock.Grant{Scope: scope, Owner: last.Owner, Token: fence.Token(last.token())}, Words: last.Words}}
	}
	return state, nil
}
