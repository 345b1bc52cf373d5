package zklock_test

import (
	"context"
	"path"
	"strconv"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/fencelab/fencelab/internal/drivers/drivertest"
	"github.com/fencelab/fencelab/internal/service/zookeeper/zktest"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/zklock"
)

// TestLawsCatch: locks that are broken in a known way do not obey the laws.
func TestLawsCatch(t *testing.T) {
	addr := zktest.Start(t, 1).Members[0].Addr
	hand := zktest.Connect(t, []string{addr}, long)
	for name, broken := range map[string]struct {
		open func([]string, time.Duration) (closer, error)
		law  string
	}{
		"the number in the node's name is the token": {
			func(servers []string, timeout time.Duration) (closer, error) {
				b, err := zklock.New(servers, timeout)
				return numbered{b, hand}, err
			},
			"tokens grow after a release",
		},
		"a wait without a context": {withoutContexts, "a waiter whose context ends leaves the queue"},
		"a loss that nobody tells": {withoutContexts, "the holder is told on loss"},
		"writers that are readers": {
			func(servers []string, timeout time.Duration) (closer, error) {
				b, err := zklock.New(servers, timeout)
				return readersOnly{b}, err
			},
			"one tenure at a time",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := subject(addr, ttl, broken.open)
			s.Slack = time.Second
			if drivertest.Law(t, broken.law).Check(bounded(t), s) == nil {
				t.Errorf("the law %q is obeyed", broken.law)
			}
		})
	}
}

// numbered takes the number in the node's name for a token. The empty folder of the nodes is
// removed, as ZooKeeper does with a container after a while.
type numbered struct {
	*zklock.Backend
	hand *zk.Conn
}

func (n numbered) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	t, err := n.Backend.Lock(ctx, scope)
	if err != nil {
		return nil, err
	}
	return numberedTenure{t, n.hand}, nil
}

type numberedTenure struct {
	lock.Tenure
	hand *zk.Conn
}

func (n numberedTenure) Grant() lock.Grant {
	g := n.Tenure.Grant()
	number, _ := strconv.ParseInt(g.Owner[len(g.Owner)-10:], 10, 64)
	g.Token = fence.Token(number + 1)
	return g
}

func (n numberedTenure) Unlock(ctx context.Context) error {
	err := n.Tenure.Unlock(ctx)
	_ = n.hand.Delete(path.Dir(n.Tenure.Grant().Owner), -1)
	return err
}

// readersOnly takes the lock as a reader does.
type readersOnly struct{ *zklock.Backend }

func (r readersOnly) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	return r.RLock(ctx, scope)
}

func (r readersOnly) TryLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return r.TryRLock(ctx, scope)
}

// plain is the type Lock of package zk.
type plain struct{ conn *zk.Conn }

func withoutContexts(servers []string, timeout time.Duration) (closer, error) {
	conn, _, err := zk.Connect(servers, timeout, zk.WithLogInfo(false))
	return plain{conn}, err
}

func (p plain) Close() { p.conn.Close() }

func (p plain) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	l := zk.NewLock(p.conn, zklock.Path(scope), zk.WorldACL(zk.PermAll))
	locked := make(chan error, 1)
	go func() { locked <- l.Lock() }()
	select {
	case err := <-locked:
		return plainTenure{l, lock.Grant{Scope: scope}, make(chan struct{})}, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p plain) TryLock(ctx context.Context, scope string) (lock.Tenure, error) {
	short, cancel := context.WithTimeout(ctx, ttl/2)
	defer cancel()
	return p.Lock(short, scope)
}

type plainTenure struct {
	lock  *zk.Lock
	grant lock.Grant
	done  chan struct{}
}

func (p plainTenure) Grant() lock.Grant            { return p.grant }
func (p plainTenure) Done() <-chan struct{}        { return p.done }
func (p plainTenure) Err() error                   { return nil }
func (p plainTenure) Unlock(context.Context) error { return p.lock.Unlock() }
