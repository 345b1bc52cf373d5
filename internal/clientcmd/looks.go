package clientcmd

import (
	"context"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

// mayGoOn looks before r, as --look has it, and says whether to go on; if not,
// also what was reported. What etcd answered is noted.
func (a *agent) mayGoOn(ctx context.Context, r *request) (refused history.Event, ok bool) {
	said, refused, ok := a.looks(ctx, a.look.value, r)
	if ok && (a.look.value == lookIsOwner || a.look.value == lookFirst) {
		e := a.about()
		e.Kind, e.Text = history.KindNote, a.name+" "+said
		a.report(e)
	}
	return refused, ok
}

// looks looks before r, and says what it saw. Where it sees no lock of its own,
// or cannot see, it reports that r failed: it was not sent.
func (a *agent) looks(ctx context.Context, how string, r *request) (said string, refused history.Event, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	err := a.members.insist(func() (err error) {
		said, err = a.see(ctx, how)
		return err
	})
	if err == nil {
		return said, refused, true
	}
	refused = a.invoke(r.ask)
	if errors.As(err, new(notHeld)) {
		refused.Reason = reasonLost
	}
	return "", a.conclude(refused, err), false
}

// notHeld says what was seen where the lock is not held.
type notHeld string

func (n notHeld) Error() string { return string(n) }

// see looks whether the lock is held. The error is notHeld where it is not; any
// other means that it cannot be known.
func (a *agent) see(ctx context.Context, how string) (said string, err error) {
	h := a.held
	switch {
	case how != lookSession && how != lookIsOwner && how != lookFirst:
		return "does not look whether it holds " + a.config.lock, nil
	case h == nil:
		return "", notHeld("it holds no lock")
	case how == lookIsOwner:
		return a.seeOwner(ctx, h)
	case how == lookFirst:
		return a.seeFirst(ctx, h)
	case h.lost():
		return "", notHeld("its session has ended")
	}
	return fmt.Sprintf("has looked: it holds %s with token %d", a.config.lock, h.token), nil
}

func (a *agent) seeOwner(ctx context.Context, h *held) (string, error) {
	question := fmt.Sprintf("asked etcd by Mutex.IsOwner whether %s has the create revision %d", h.key(), h.revision())
	resp, err := a.etcd.Txn(ctx).If(h.position.(*mutexTenure).isOwner).Commit()
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", question, err)
	case !resp.Succeeded:
		return "", notHeld(question + ": no")
	}
	return question + ": yes", nil
}

func (a *agent) seeFirst(ctx context.Context, h *held) (string, error) {
	question := "asked etcd for the first key of the queue of " + a.config.lock
	resp, err := a.etcd.Get(ctx, etcdlock.Prefix(a.config.lock), append(clientv3.WithFirstCreate(), clientv3.WithKeysOnly())...)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", question, err)
	case len(resp.Kvs) == 0:
		return "", notHeld(question + ": there is none")
	}
	first := resp.Kvs[0]
	if name := tenureName(string(first.Key), first.CreateRevision); name != h.name() {
		return "", notHeld(fmt.Sprintf("%s: %s, and its own is %s", question, name, h.name()))
	}
	return fmt.Sprintf("%s: %s, its own", question, h.name()), nil
}
