package etcd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

// client takes its locks by etcdlock, and by mutexes where its settings need more.
type client struct {
	lock.Inspector // etcdlock's

	etcd     *clientv3.Client
	members  *members
	locks    lock.Backend // etcdlock's, by the setting of the mode
	settings setting.Values

	mu       sync.Mutex
	kept     *session   // the last that was opened for more than one tenure
	sessions []*session // all such
}

// Dial makes a client that is not in Java.
func Dial(o service.Options) (service.Client, error) {
	if by := service.RecipeOf(recipes, o.Settings); by.peer != "" {
		return nil, service.ErrOriginal(by.name)
	}
	s := o.Settings.Text(setting.Session)
	if s != sessionOwn && s != sessionKept {
		return nil, fmt.Errorf("%s is %q, want %s or %s", setting.Session, s, sessionOwn, sessionKept)
	}
	if name, why := unfit(o.Settings); name != "" {
		return nil, fmt.Errorf("%s is %q: %s", name, o.Settings.Text(name), why)
	}
	c := &client{members: &members{conns: make(map[string][]net.Conn)}, settings: o.Settings}
	var err error
	c.etcd, err = clientv3.New(clientv3.Config{
		Endpoints:         o.Endpoints,
		Logger:            zap.NewNop(), // what matters is in the errors
		DialKeepAliveTime: o.Settings.Time(settingKeepAlive), DialKeepAliveTimeout: o.Settings.Time(settingKeepAliveTimeout),
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(c.members.dial), grpc.WithConnectParams(grpc.ConnectParams{
			// By default the pauses grow to two minutes.
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: time.Second,
		})},
	})
	if err != nil {
		return nil, fmt.Errorf("endpoints: %w", err)
	}
	c.etcd.KV = queueKV{c.etcd.KV}
	locks, err := etcdlock.New(c.etcd, o.Settings.Time(setting.TTL))
	if err != nil {
		c.etcd.Close()
		return nil, fmt.Errorf("%s: %w", setting.TTL, err)
	}
	c.Inspector = locks
	if c.locks = locks; c.shares() {
		c.locks = lock.Shared(locks)
	}
	return c, nil
}

func (c *client) Reach(ctx context.Context) error {
	// Not by clientv3's MemberList, which tries again by itself and hides the cause.
	cluster := etcdserverpb.NewClusterClient(c.etcd.ActiveConnection())
	_, err := cluster.MemberList(ctx, &etcdserverpb.MemberListRequest{Linearizable: true})
	return err
}

func (c *client) Close(ctx context.Context) error {
	var errs []error
	for _, s := range c.sessions {
		errs = append(errs, s.close(ctx)) // with an error the lease runs out
	}
	return errors.Join(append(errs, c.etcd.Close())...)
}

// The ways to take a lock, as lock.UnknownError names them.
const (
	opLock    = "lock"
	opTryLock = "trylock"
)

func (c *client) Lock(ctx context.Context, scope, in string) (service.Tenure, error) {
	return c.take(ctx, opLock, scope, in)
}

func (c *client) TryLock(ctx context.Context, scope, in string) (service.Tenure, error) {
	return c.take(ctx, opTryLock, scope, in)
}

func (c *client) take(ctx context.Context, op, scope, in string) (service.Tenure, error) {
	lease, err := leaseOf(in)
	if err != nil {
		return nil, err
	}
	p, err := insist(c.members, func() (position, error) { return c.acquire(ctx, op, scope, lease) })
	if err != nil {
		return nil, explained(err)
	}
	return &tenure{position: p, of: c}, nil
}

func (c *client) acquire(ctx context.Context, op, scope string, lease clientv3.LeaseID) (position, error) {
	if c.keepsSession() || c.settings.Text(setting.Look) == lookIsOwner || lease != clientv3.NoLease {
		m, err := c.openMutex(ctx, scope, lease)
		if err != nil {
			return nil, err
		}
		return m, m.take(ctx, op)
	}
	take := c.locks.Lock
	if op == opTryLock {
		take = c.locks.TryLock
	}
	t, err := take(ctx, scope)
	if err != nil {
		return nil, err
	}
	return t.(*etcdlock.Tenure), nil
}

// explained wraps service.ErrRanOut where that is the cause.
func explained(err error) error {
	if errors.Is(err, concurrency.ErrSessionExpired) || errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return fmt.Errorf("%w: %w", service.ErrRanOut, err)
	}
	return err
}

// queuing is a position that is waited for in the background.
type queuing interface {
	position
	take(ctx context.Context, op string) error
	stands() <-chan struct{} // closed when it stands in the queue
}

// queuing makes one, by a mutex unless it is shared.
func (c *client) queuing(ctx context.Context, scope string) (queuing, error) {
	if c.shares() {
		place := lock.Grant{Scope: scope, Mode: fence.Shared}
		return &reader{Later: service.Later{Place: place}, locks: c.locks, placed: make(chan struct{})}, nil
	}
	return c.openMutex(ctx, scope, clientv3.NoLease)
}

func (c *client) Enqueue(ctx context.Context, scope string) (service.Place, error) {
	q, err := insist(c.members, func() (queuing, error) { return c.queuing(ctx, scope) })
	if err != nil {
		return nil, explained(err)
	}
	return service.EnqueueAs(ctx, &tenure{position: q, of: c}, q.stands(), func(waiting context.Context) error {
		defer c.members.attend()()
		return explained(q.take(waiting, opLock))
	})
}
