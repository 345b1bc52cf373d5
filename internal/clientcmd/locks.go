package clientcmd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/kv"
	"github.com/fencelab/fencelab/internal/kvhttp"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

// held is a tenure, or a place in the queue that will be one.
type held struct {
	position
	token    fence.Token   // what the agent shows
	released chan struct{} // closed when the agent lets go of it by itself
}

func (h *held) lost() bool { return isClosed(h.Done()) }

func (h *held) key() string     { return h.Grant().Owner }
func (h *held) revision() int64 { return int64(h.Grant().Token) }
func (h *held) name() string    { return tenureName(h.key(), h.revision()) }

// tenureName tells tenures apart also where a session uses its key again.
func tenureName(key string, revision int64) string { return fmt.Sprintf("%s@%d", key, revision) }

// about is an event about the last grant. The grant is a value: what it says
// does not change when the lock is lost, and the agent goes on to use it.
// Without one there is only the lock's name.
func (a *agent) about() history.Event {
	if a.held == nil {
		return history.Event{Scope: a.config.lock}
	}
	return history.Event{Scope: a.config.lock, Tenure: a.held.name(), Token: a.held.token}
}

func (a *agent) lock(ctx context.Context, arg string) error {
	lease, err := parseLease(arg)
	switch {
	case err != nil:
		return err
	case a.queue != nil: // it has been asked for already
		return a.wait(ctx, "")
	}
	_ = a.take(ctx, history.OpLock, lease, a.timeout) // it is reported
	return nil
}

// parseLease reads the argument of lock and trylock.
func parseLease(arg string) (clientv3.LeaseID, error) {
	if strings.TrimSpace(arg) == "" {
		return clientv3.NoLease, nil
	}
	hex, ok := strings.CutPrefix(arg, "in ")
	id, err := strconv.ParseInt(hex, 16, 64)
	if !ok || err != nil || id <= 0 {
		return clientv3.NoLease, fmt.Errorf(`%s: want nothing more, or "in LEASE" with a lease ID in hexadecimal`, arg)
	}
	return clientv3.LeaseID(id), nil
}

func (a *agent) tryLock(ctx context.Context, arg string) error {
	lease, err := parseLease(arg)
	if err != nil {
		return err
	}
	_ = a.take(ctx, history.OpTryLock, lease, a.timeout)
	return nil
}

// take asks for the lock, waits for it so long, and reports that, too.
func (a *agent) take(ctx context.Context, op string, lease clientv3.LeaseID, long time.Duration) error {
	asked := a.invoke(history.Event{Op: op, Scope: a.config.lock})
	if err := a.mayAsk(asked); err != nil {
		return err
	}
	asking, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	var t position
	err := a.members.insist(func() (err error) {
		t, err = a.acquire(asking, op, lease)
		return err
	})
	if err != nil && asking.Err() != nil {
		err = notGranted(err)
	}
	a.granted(ctx, asked, t, err)
	return err
}

// errNotGranted is why nobody waits for a lock any more.
var errNotGranted = errors.New("not granted in time; it has left the queue")

// notGranted is the error of one whose time to wait is over. Where it may stand in
// the queue still err says so.
func notGranted(err error) error {
	if errors.As(err, new(*lock.UnknownError)) {
		return err
	}
	return fmt.Errorf("%w: %w", errNotGranted, err)
}

// mayAsk asks nobody for a lock that is held.
func (a *agent) mayAsk(asked history.Event) error {
	if a.held == nil || a.held.lost() {
		return nil
	}
	err := fmt.Errorf("already holds %s, or waits for it, with token %d", a.config.lock, a.held.token)
	asked.Reason = "held"
	a.conclude(asked, err)
	return err
}

func (a *agent) acquire(ctx context.Context, op string, lease clientv3.LeaseID) (position, error) {
	if a.usesMutex() || lease != clientv3.NoLease {
		m, err := a.openMutex(ctx, lease)
		if err != nil {
			return nil, err
		}
		return m, m.take(ctx, op)
	}
	take := a.locks.Backend.Lock
	if op == history.OpTryLock {
		take = a.locks.Backend.TryLock
	}
	t, err := take(ctx, a.config.lock)
	if err != nil {
		return nil, err
	}
	return t.(*etcdlock.Tenure), nil
}

// ranOut reports whether a lock was not taken because the lease of its place in the
// queue had run out: nobody kept it from the lock.
func ranOut(err error) bool {
	return errors.Is(err, concurrency.ErrSessionExpired) || errors.Is(err, rpctypes.ErrLeaseNotFound)
}

// granted waits out the lock delay and reports what became of asking for the lock.
func (a *agent) granted(ctx context.Context, outcome history.Event, t position, err error) {
	if err != nil {
		if ranOut(err) {
			outcome.Reason = history.CauseExpired
		}
		a.conclude(outcome, err)
		return
	}
	h := a.hold(t, tokenOf(a.token.value, t))
	e := a.about()
	outcome.Tenure, outcome.Token = e.Tenure, e.Token
	e.Kind, e.Op = history.KindNote, history.OpLock
	if a.token.value == tokenLease {
		id := fmt.Sprintf("%016x", t.UnorderedLeaseID())
		e.Text = fmt.Sprintf("its lease is %s-%s, as a number %d; %[1]s is the beginning of the ID of the member that granted it", id[:4], id[4:], t.UnorderedLeaseID())
		a.report(e)
	}
	if a.lockDelay > 0 {
		e.Took, e.Text = a.lockDelay, fmt.Sprintf("%s has %s, and waits for %g s before it goes on", a.name, a.config.lock, a.lockDelay.Seconds())
		a.report(e)
		select {
		case <-time.After(a.lockDelay):
		case <-ctx.Done(): // the agent ends, and releases the lock
		}
	}
	a.conclude(outcome, nil)
	a.watchers.Go(func() { a.watch(h) }) // after that: the loss comes after the grant
}

func (a *agent) hold(t position, token fence.Token) *held {
	if a.held == nil || a.held.position != t { // else it has waited for it
		a.held = &held{position: t, released: make(chan struct{})}
		a.sequence = 0
	}
	a.held.token = token
	return a.held
}

// watch reports the loss of a tenure.
func (a *agent) watch(h *held) {
	select {
	case <-h.released:
		return
	case <-h.Done():
	}
	e := history.Event{Kind: history.KindLost, Scope: a.config.lock, Tenure: h.name(), Token: h.token}
	e.Text = fmt.Sprintf("lost %s, which it held with token %d", e.Scope, e.Token)
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.standing {
		a.news.Wait()
	}
	if !isClosed(h.released) { // else it is no loss
		a.print(e)
	}
}

func (a *agent) unlock(ctx context.Context, _ string) error {
	a.release(ctx)
	return nil
}

func (a *agent) release(ctx context.Context) history.Event {
	ask := a.about()
	ask.Op = history.OpUnlock
	h := a.held
	if h == nil || a.queue != nil {
		return a.conclude(a.invoke(ask), errors.New("holds nothing"))
	}
	a.held = nil
	if !h.lost() { // else the loss is news, and watch reports it
		close(h.released)
	}
	return a.perform(ctx, &request{ask: ask, do: func(ctx context.Context, _ *kvhttp.Client, _ kv.Request, _ *history.Event) error {
		return a.unlockOf(ctx, h)
	}})
}

// unlockOf releases the lock. Where it had to ask again, and the tenure was over by
// then, it may be by the first time.
func (a *agent) unlockOf(ctx context.Context, h *held) error {
	var first error
	return a.members.insist(func() error {
		err := h.Unlock(ctx)
		if first != nil && errors.Is(err, lock.ErrLost) {
			return first
		}
		first = err
		return err
	})
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
