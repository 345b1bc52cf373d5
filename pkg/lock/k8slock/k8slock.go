// Package k8slock is a lock.Backend on Leases of Kubernetes.
//
//	client, err := rest.HTTPClientFor(config) // of client-go
//	…
//	backend, err := k8slock.New(config.Host, "default", 15*time.Second, k8slock.HTTP(client))
//
// A scope is the name of a lock. The lock of a scope is a Lease of a namespace, which names the holder. The scope is the
// Lease's name, if Kubernetes takes it as a name. Of other scopes small letters and digits stay, the other bytes are written
// as -xx, and the name begins with "scope-". The package writes a Lease only if its resourceVersion is the one that was
// read. It needs net/http alone, and the verbs get, create and update for Leases.
//
// # Tokens
//
// The token of a tenure is the resourceVersion with which the Lease named the holder. resourceVersions of Leases are
// revisions of the etcd of Kubernetes: each change of any object has a higher one, and so tokens are in the order of the
// grants, with gaps. They go on where a Lease is deleted, as leaseTransitions does not: a Lease that nobody holds may be
// deleted. Kubernetes says that they are ordered numbers from version 1.35 on; earlier API servers on etcd have the same
// ones. Tokens go back if etcd is restored from a backup.
//
// # Leases, and whose clock
//
// Nothing in Kubernetes ends a Lease. A holder renews its Lease every third of the TTL. Who asks for the lock notes when it
// has seen the Lease's state first. When that has been the same for the Lease's duration, the holder is gone, and who asks
// takes the lock in its place. All times are differences of times of one clock; no two clocks are compared. So a Backend
// that begins to look at the Lease of a dead holder sees it for a whole TTL before it takes the lock. It remembers what it
// has seen from one call to the next, of the 10,000 locks that were asked for last.
//
// # What a holder is told, and when
//
// If the Lease does not name a holder any more, or is gone, its tenure is lost; a renewal never takes a lock again. If no
// renewal was answered for the TTL, the tenure is cut off (lock.ErrCutOff). This time is counted by the holder's clock, from
// when the holder sent the last request that was answered.
//
// # Who waits
//
// A waiter reads the Lease now and then. The option Poll says how often. Whoever asks first when the lock is free gets it,
// even if others have waited longer.
//
// # Who holds a lock
//
// An annotation of the Lease has the words of the holder (lock.WithWords), and Inspect tells them.
//
// # Errors
//
// Lock and TryLock return the errors of the API server, and do not wait for its restart. An answer of a status from 400 to
// 499, but for 408 and 429, is definite: after it nothing is left.
package k8slock

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/internal/kube"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// Backend takes locks in one namespace. Its tenures have the concrete type *Tenure. It needs no closing.
type Backend struct {
	leases *leases
	watch  *attempt.Watch
	ttl    time.Duration
	poll   time.Duration
	owner  func() string
}

var (
	_ lock.Backend   = (*Backend)(nil)
	_ lock.Inspector = (*Backend)(nil)
)

// Option is a choice for New.
type Option func(*options)

type options struct {
	http  *http.Client
	poll  time.Duration
	owner func() string
}

// HTTP is the client that sends the requests, with the certificate of the API server and what proves who asks, as client-go's
// rest.HTTPClientFor makes it. Without this option it is http.DefaultClient. Redirects are not followed.
func HTTP(client *http.Client) Option { return func(o *options) { o.http = client } }

// Poll is how long a waiter pauses between two looks at the lock, on average: it pauses for half of that to one and a half.
// Its first four pauses are shorter, a 16th, an 8th, a quarter and a half of that. Without this option it is 1 s.
func Poll(pause time.Duration) Option { return func(o *options) { o.poll = pause } }

// Owner has new make the names of owners, by which people find out who holds a lock, such as the pod's name and a random
// part. No two names may be the same. Without this option a name is random.
func Owner(new func() string) Option { return func(o *options) { o.owner = new } }

// namespaceName is what Kubernetes takes as one.
var namespaceName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

// longest is what a Lease can have as its duration.
const longest = math.MaxInt32 * time.Second

// New returns a backend whose locks outlive a crash of their holder by ttl, and by the time after which somebody looks. ttl
// has to be of whole seconds: a Lease knows no shorter ones. A holder may take as long as ttl to notice that the API server
// cannot be reached.
//
// address is the URL of the API server, such as Host of client-go's rest.Config.
func New(address, namespace string, ttl time.Duration, some ...Option) (*Backend, error) {
	o := options{http: http.DefaultClient, poll: time.Second, owner: rand.Text}
	for _, choice := range some {
		choice(&o)
	}
	switch {
	case ttl < time.Second || ttl%time.Second != 0 || ttl > longest:
		return nil, fence.Definite.New(fmt.Sprintf("k8slock: a TTL of %v, want whole seconds, 1s or more", ttl))
	case o.poll < time.Millisecond:
		return nil, fence.Definite.New(fmt.Sprintf("k8slock: Poll(%v): want 1ms or more", o.poll))
	case !namespaceName.MatchString(namespace):
		return nil, fence.Definite.New(fmt.Sprintf("k8slock: the namespace %q: want small letters, digits and -", namespace))
	}
	objects, err := kube.New(address, "/apis/coordination.k8s.io/v1/namespaces/"+namespace+"/leases", o.http)
	if err != nil {
		return nil, fmt.Errorf("k8slock: %w", err)
	}
	answer := min(max(ttl/3, time.Second), longAnswer)
	return &Backend{&leases{objects, answer}, attempt.NewWatch(), ttl, o.poll, o.owner}, nil
}

// TryLock is as lock.Backend says. When ctx is done, TryLock and Lock take at most 2 s more: they wait for the answer to
// their request, and take back what it has granted.
func (b *Backend) TryLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return b.attempt(ctx, scope, attempt.TryLock)
}

// Lock is as lock.Backend says.
func (b *Backend) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	return b.attempt(ctx, scope, attempt.Lock)
}

// Inspect is as lock.Inspector says. Nothing in Kubernetes ends a Lease, and so Inspect tells how long none lasts; of a holder
// that crashed it tells until the Backend has seen the Lease unchanged for its duration. A holder that has its Lease by
// another program has no token here. Nobody knows who waits.
func (b *Backend) Inspect(ctx context.Context, scope string) (lock.State, error) {
	if b.leases == nil {
		return lock.State{}, errZero
	}
	name, err := kube.Name(scope)
	if err != nil {
		return lock.State{}, fmt.Errorf("k8slock: inspect: %w", err)
	}
	asked := time.Now()
	l, err := b.leases.read(ctx, name)
	if err != nil {
		return lock.State{}, fence.Definite.Wrap(fmt.Errorf("k8slock: inspect %q: %w", scope, err))
	}
	if !b.held(scope, l, asked) {
		return lock.State{}, nil
	}
	h := l.holder
	return lock.State{Holders: []lock.Party{{Grant: lock.Grant{Scope: scope, Owner: h.Owner, Token: h.Token}, Words: h.Words}}}, nil
}
