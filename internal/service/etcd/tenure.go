package etcd

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

// position is a tenure, or a place in the queue that will be one, with all the
// numbers that pass for tokens. The header's revision is 0 before the grant.
type position interface {
	lock.Tenure
	HeaderRevision() int64
	UnorderedLeaseID() int64
}

type tenure struct {
	position
	of *client
}

// tenureOf names a tenure by the holder's key and its create revision: one key may be
// that of several, one after the other, where a client keeps its session.
func tenureOf(key string, revision int64) string { return fmt.Sprintf("%s@%d", key, revision) }

// leaseOf is the lease that a tenure of that name stands on: package concurrency ends
// the keys of its locks with it. Where nobody is named it is none.
func leaseOf(tenure string) (clientv3.LeaseID, error) {
	if tenure == "" {
		return clientv3.NoLease, nil
	}
	hex, _, _ := strings.Cut(path.Base(slotOf(tenure)), "-") // etcdlock has a number follow
	id, err := strconv.ParseInt(hex, 16, 64)
	if err != nil || id <= 0 {
		return clientv3.NoLease, fence.Definite.New(fmt.Sprintf("%q names no tenure of etcd: want KEY@REVISION, with a key that ends with a lease ID", tenure))
	}
	return clientv3.LeaseID(id), nil
}

func (t *tenure) Name() string { return tenureOf(t.Grant().Owner, int64(t.Grant().Token)) }

func (t *tenure) Session() string { return strconv.FormatInt(t.UnorderedLeaseID(), 16) }

// Until the grant there is no header, and the create revision stands for it.
func (t *tenure) Shown() (token fence.Token, remark string) {
	switch t.of.settings.Text(setting.Token) {
	case tokenHeader:
		if r := t.HeaderRevision(); r != 0 {
			return fence.Token(r), ""
		}
	case tokenLease:
		lease := t.UnorderedLeaseID()
		id := fmt.Sprintf("%016x", lease)
		return fence.Token(lease), fmt.Sprintf("its lease is %s-%s, as a number %d; %[1]s is the beginning of the ID of the member that granted it", id[:4], id[4:], lease)
	case setting.TokenMax:
		return service.MaxToken, ""
	case setting.TokenNone:
		return 0, ""
	}
	return t.Grant().Token, ""
}

// Unlock releases the lock. Where it had to ask again, and the tenure was over by
// then, that may be by the first time.
func (t *tenure) Unlock(ctx context.Context) error {
	var first error
	_, err := insist(t.of.members, func() (struct{}, error) {
		err := t.position.Unlock(ctx)
		if first == nil || !errors.Is(err, lock.ErrLost) {
			first = err
		}
		return struct{}{}, first
	})
	return err
}

func (t *tenure) Look(ctx context.Context, how string) (said string, err error) {
	return insist(t.of.members, func() (string, error) {
		if how == lookIsOwner {
			return t.seeOwner(ctx)
		}
		return t.seeFirst(ctx)
	})
}

func (t *tenure) seeOwner(ctx context.Context) (string, error) {
	g := t.Grant()
	question := fmt.Sprintf("asked etcd by Mutex.IsOwner whether %s has the create revision %d", g.Owner, g.Token)
	resp, err := t.of.etcd.Txn(ctx).If(t.position.(*mutexTenure).isOwner).Commit()
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", question, err)
	case !resp.Succeeded:
		return "", service.NotHeld(question + ": no")
	}
	return question + ": yes", nil
}

func (t *tenure) seeFirst(ctx context.Context) (string, error) {
	scope := t.Grant().Scope
	question := "asked etcd for the first key of the queue of " + scope
	resp, err := t.of.etcd.Get(ctx, etcdlock.Prefix(scope), append(clientv3.WithFirstCreate(), clientv3.WithKeysOnly())...)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", question, err)
	case len(resp.Kvs) == 0:
		return "", service.NotHeld(question + ": there is none")
	}
	first := tenureOf(string(resp.Kvs[0].Key), resp.Kvs[0].CreateRevision)
	if first != t.Name() {
		return "", service.NotHeld(fmt.Sprintf("%s: %s, and its own is %s", question, first, t.Name()))
	}
	return fmt.Sprintf("%s: %s, its own", question, first), nil
}

// shares reports whether the client takes its locks together with others.
func (c *client) shares() bool { return c.settings.Text(setting.Mode) == setting.ModeShared }

// reader is a place in the queue of one who shares the lock, by etcdlock, and then its tenure.
type reader struct {
	service.Later
	locks  lock.Backend
	placed chan struct{} // closed when it stands in the queue, and the grant is known that it will have
}

var _ queuing = (*reader)(nil)

func (r *reader) stands() <-chan struct{} { return r.placed }

func (r *reader) take(ctx context.Context, _ string) error {
	t, err := r.locks.Lock(context.WithValue(ctx, placedKey{}, r.place), r.Place.Scope)
	if err == nil {
		r.Begin(t)
	}
	return err
}

func (r *reader) place(key string, revision int64) {
	r.Place.Owner, r.Place.Token = key, fence.Token(revision)
	close(r.placed)
}

func (r *reader) HeaderRevision() int64 {
	if t, held := r.Held().(*etcdlock.Tenure); held {
		return t.HeaderRevision()
	}
	return 0
}

func (r *reader) UnorderedLeaseID() int64 {
	id, _ := leaseOf(r.Grant().Owner) // etcdlock has it in each key
	return int64(id)
}

// queueKV is what etcdlock reads and writes by. The answer to its put tells the place in
// the queue, which nothing else does before the grant: queueKV calls the function that
// the context has for placedKey.
type queueKV struct{ clientv3.KV }

type placedKey struct{}

func (k queueKV) Txn(ctx context.Context) clientv3.Txn {
	txn := k.KV.Txn(ctx)
	if placed, ok := ctx.Value(placedKey{}).(func(key string, revision int64)); ok {
		return &queueTxn{Txn: txn, placed: placed}
	}
	return txn
}

type queueTxn struct {
	clientv3.Txn
	placed func(key string, revision int64)
	key    string // that it puts
}

func (t *queueTxn) Then(ops ...clientv3.Op) clientv3.Txn {
	if ops[0].IsPut() {
		t.key = string(ops[0].KeyBytes())
	}
	t.Txn.Then(ops...)
	return t
}

func (t *queueTxn) Commit() (*clientv3.TxnResponse, error) {
	resp, err := t.Txn.Commit()
	if err == nil && t.key != "" {
		t.placed(t.key, resp.Header.Revision)
	}
	return resp, err
}
