package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	coordination "k8s.io/api/coordination/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// namespace has the Leases of all locks.
const namespace = "default"

// elections are the locks of one client: a lock is an election, and a Lease with its name. Each tenure stands for election
// under an identity of its own, so that it is one process of a Deployment.
type elections struct {
	settings
	recipe recipe
	leases client.CoordinationV1Interface
}

// recipe is how an election is configured. Its times are in fifteenths of the LeaseDuration.
type recipe struct {
	renewDeadline, retryPeriod time.Duration
	releases                   bool // it has ReleaseOnCancel
	waits                      bool // a request has no time limit
}

// open has the API server's certificate unchecked, as the server makes a new one for each run. Requests have no limit of 5 a
// second: the leases of a story are shorter than those that this default of client-go is for.
func (r recipe) open(s settings) (locks, error) {
	config := &rest.Config{
		Host: "https://" + s.endpoints[0], BearerToken: "gcsim", QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	}
	e := &elections{settings: s, recipe: r}
	if !r.waits {
		config.Timeout = max(time.Second, e.renewDeadline()/2) // as resourcelock.NewFromKubeconfig has it
	}
	leases, err := client.NewForConfig(config)
	e.leases = leases
	return e, err
}

func (e *elections) renewDeadline() time.Duration { return e.ttl * e.recipe.renewDeadline / 15 }

func (e *elections) retryPeriod() time.Duration { return e.ttl * e.recipe.retryPeriod / 15 }

func (e *elections) reach(ctx context.Context) error {
	_, err := e.leases.Leases(namespace).List(ctx, meta.ListOptions{Limit: 1})
	return err
}

func (e *elections) close() error { return nil }

func (e *elections) lock(ctx context.Context, name string, once bool) (tenure, error) {
	return e.lockAs(ctx, name, rand.Text(), once)
}

// leaseOf is the name of a lock's Lease. Kubernetes wants small letters, and no slash.
func leaseOf(lock string) string {
	return strings.ToLower(strings.ReplaceAll(strings.Trim(lock, "/"), "/", "."))
}

// lockAs stands for election until it leads, or until ctx is done; with once, until it sees that another one leads.
func (e *elections) lockAs(ctx context.Context, name, owner string, once bool) (tenure, error) {
	seen := &leases{CoordinationV1Interface: e.leases, owner: owner}
	t := &term{of: e, seen: seen, lease: leaseOf(name), owner: owner, ended: make(chan struct{}), over: make(chan struct{})}
	other, leads := make(chan struct{}, 1), make(chan struct{})
	record, err := resourcelock.New(resourcelock.LeasesResourceLock, namespace, t.lease, nil, seen, resourcelock.ResourceLockConfig{Identity: owner})
	if err != nil {
		return nil, err
	}
	t.elector, err = leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: record, LeaseDuration: e.ttl, RenewDeadline: e.renewDeadline(), RetryPeriod: e.retryPeriod(), ReleaseOnCancel: e.recipe.releases,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(leads) },
			OnStoppedLeading: t.stopped,
			OnNewLeader: func(identity string) {
				if identity != owner && identity != "" {
					select {
					case other <- struct{}{}:
					default:
					}
				}
			},
		},
	})
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(context.Background())
	t.stop = stop
	go func() {
		defer close(t.ended)
		t.elector.Run(running)
	}()
	if !once {
		other = nil
	}
	select {
	case <-leads:
		return t, nil
	case <-other:
	case <-ctx.Done():
	}
	stop()
	<-t.ended
	if granted, unsure := seen.said(); granted != nil {
		return t, nil // it led for a moment
	} else {
		return nil, cmp.Or(unsure, errRefused)
	}
}

// term is the time in which one leads.
type term struct {
	of           *elections
	elector      *leaderelection.LeaderElector
	seen         *leases
	lease, owner string
	stop         context.CancelFunc
	leaves       atomic.Bool   // it is to be unlocked
	over         chan struct{} // closed when it is lost, as client-go says
	ended        chan struct{} // closed when the elector is done
}

// name has the token that the client is to show: see the settings of gcsim.
func (t *term) name() (string, int64) {
	lease, _ := t.seen.said()
	switch t.of.fields.Get("token") {
	case "transitions":
		return t.owner, int64(*lease.Spec.LeaseTransitions) + 1 // the first leader has 0, which is no token
	case "acquire-time":
		return t.owner, lease.Spec.AcquireTime.UnixMicro()
	}
	version, _ := strconv.ParseInt(lease.ResourceVersion, 10, 64) // a number, since Kubernetes 1.35 by its documentation
	return t.owner, version
}

// stopped is OnStoppedLeading, which is called when a leader gives up, too.
func (t *term) stopped() {
	if !t.leaves.Load() {
		close(t.over)
	}
}

// lost is the word of client-go.
func (t *term) lost() <-chan struct{} { return t.over }

// acquired is client-go's own question.
func (t *term) acquired() (bool, error) { return t.elector.IsLeader(), nil }

// held reads the Lease.
func (t *term) held(ctx context.Context) (bool, error) {
	lease, err := t.of.leases.Leases(namespace).Get(ctx, t.lease, meta.GetOptions{})
	return err == nil && holderOf(lease) == t.owner, err
}

// unlock ends the candidacy, and by ReleaseOnCancel client-go then empties the Lease. It says nothing of how that went, so
// that the question is whether it still takes itself for the leader.
func (t *term) unlock(ctx context.Context) error {
	select {
	case <-t.ended:
		return over{errors.New("client-go has told of its loss")}
	default:
	}
	t.leaves.Store(true)
	t.stop()
	select {
	case <-t.ended:
	case <-ctx.Done():
		return ctx.Err()
	}
	switch {
	case !t.of.recipe.releases:
		return kept{fmt.Errorf("without ReleaseOnCancel nobody releases the Lease: it is free when it is %v old", t.of.ttl)}
	case t.elector.IsLeader():
		return errors.New("client-go has not released the Lease, and does not say why")
	}
	return nil
}

// kept says that a lock was not released, and will not be.
type kept struct{ error }

func (kept) Is(target error) bool { return target == errRefused }

func holderOf(lease *coordination.Lease) string {
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}
