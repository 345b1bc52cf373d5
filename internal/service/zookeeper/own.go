package zookeeper

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"path"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/zklock"
)

// ownClient takes its locks by package zklock, which has a session of its own. By that of the
// client it looks, and finds its places in queues.
type ownClient struct {
	*client
	both    *zklock.Backend
	locks   lock.Backend // both, or that of its readers
	session atomic.Int64 // of zklock; 0 before the first
}

func newOwnClient(c *client, endpoints []string) (*ownClient, error) {
	o := &ownClient{client: c}
	some := []zklock.Option{zklock.Dialer(o.dial)}
	if c.settings.Text(settingSuspended) == suspendedObeyed {
		some = append(some, zklock.Suspended())
	}
	var err error
	if o.both, err = zklock.New(endpoints, c.settings.Time(setting.TTL), some...); err != nil {
		c.end()
		return nil, fmt.Errorf("%s: %w", service.By, err)
	}
	o.locks = o.both
	if c.recipe.mode == fence.Shared {
		o.locks = lock.Shared(o.both)
	}
	return o, nil
}

func (o *ownClient) Close(ctx context.Context) error {
	o.both.Close()
	return o.client.Close(ctx)
}

// Inspect is as lock.Inspector says, by package zklock.
func (o *ownClient) Inspect(ctx context.Context, scope string) (lock.State, error) {
	return o.both.Inspect(ctx, scope)
}

func (o *ownClient) Lock(ctx context.Context, scope, in string) (service.Tenure, error) {
	return o.take(ctx, "lock", scope, in, o.locks.Lock)
}

func (o *ownClient) TryLock(ctx context.Context, scope, in string) (service.Tenure, error) {
	return o.take(ctx, "trylock", scope, in, o.locks.TryLock)
}

func (o *ownClient) take(ctx context.Context, op, scope, in string, ask func(context.Context, string) (lock.Tenure, error)) (service.Tenure, error) {
	t, err := o.newTenure(op, scope, in)
	if err != nil {
		return nil, err
	}
	held, err := ask(ctx, scope)
	if err != nil {
		return nil, explained(err)
	}
	t.begin(held)
	service.Stand(ctx, t.Name())
	return t, nil
}

// explained tells a wait whose session has ended from others.
func explained(err error) error {
	if errors.Is(err, zk.ErrSessionExpired) {
		return fmt.Errorf("%w: %w", service.ErrRanOut, err)
	}
	return err
}

// Enqueue waits in the background. Its place is the node of zklock's session that was not there before.
func (o *ownClient) Enqueue(ctx context.Context, scope string) (service.Place, error) {
	t, err := o.newTenure("lock", scope, "")
	if err != nil {
		return nil, err
	}
	before, err := o.children(ctx, scope)
	if err != nil && err != zk.ErrNoNode {
		return nil, err
	}
	stands := make(chan struct{})
	return service.EnqueueAs(ctx, t, stands, func(ctx context.Context) error {
		stop := t.look(ctx, before, stands)
		held, err := o.locks.Lock(ctx, scope)
		stop()
		if err != nil {
			return explained(err)
		}
		t.begin(held)
		return nil
	})
}

// ownTenure is one of zklock, or a place in the queue that will be one.
type ownTenure struct {
	*tenure
	client *ownClient
	held   atomic.Pointer[zklock.Tenure] // nil before the grant
}

func (o *ownClient) newTenure(op, scope, in string) (*ownTenure, error) {
	w, err := o.asking(op, scope, in)
	if err != nil {
		return nil, err
	}
	if node := zklock.Path(scope); node != scope {
		return nil, fmt.Errorf("zookeeper: the node of the lock %q is %s by package zklock: want a name of which zklock escapes nothing", scope, node)
	}
	return &ownTenure{tenure: newTenure(w), client: o}, nil
}

// look looks for the place in the background, and closes stands when it is known. When stop
// has returned it looks no more.
func (t *ownTenure) look(ctx context.Context, before []string, stands chan<- struct{}) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		node, stat, err := t.of.awaitNode(ctx, func(name string, _ []byte, stat *zk.Stat) bool {
			return stat.EphemeralOwner == t.client.session.Load() && !slices.Contains(before, name)
		})
		if err == nil {
			t.note(node, stat.Czxid, stat.EphemeralOwner)
			close(stands)
		}
	}()
	return func() { cancel(); <-over }
}

// note says what the node is, before anybody else knows of the tenure.
func (t *ownTenure) note(node string, czxid, session int64) {
	t.of.node, t.of.czxid, t.of.session = node, czxid, session
}

func (t *ownTenure) begin(held lock.Tenure) {
	own := held.(*zklock.Tenure)
	if t.of.node == "" {
		t.note(own.Grant().Owner, int64(own.Grant().Token), own.SessionID())
	}
	t.acquired.Store(true)
	t.held.Store(own)
	go func() {
		<-own.Done()
		t.End(own.Err())
	}()
}

func (t *ownTenure) Unlock(ctx context.Context) error {
	held := t.held.Load()
	if held == nil {
		return service.StillWaits(t.of.lock, path.Base(t.of.node))
	}
	t.End(nil)
	t.acquired.Store(false)
	return held.Unlock(ctx)
}

// dial makes the connections of zklock, and reads in the first answer which session it is.
func (o *ownClient) dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	c, err := net.DialTimeout(network, addr, timeout)
	if err != nil {
		return nil, err
	}
	return &overheard{Conn: c, session: &o.session}, nil
}

// overheard is a connection of which the first answer is noted.
type overheard struct {
	net.Conn
	session *atomic.Int64
	head    []byte
}

// The first answer has its length, the version of the protocol and the timeout, four bytes each, and the session.
const (
	sessionAt = 12
	headSize  = sessionAt + 8
)

func (c *overheard) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if len(c.head) < headSize {
		c.head = append(c.head, b[:n]...)
		if len(c.head) >= headSize {
			c.session.Store(int64(binary.BigEndian.Uint64(c.head[sessionAt:])))
		}
	}
	return n, err
}
