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
	case tokenNone:
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
