package etcdlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdserver"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

const (
	ttl   = time.Second
	brief = 3 * ttl // of a lease that is to end, and not before a busy machine has done what comes first
)

func TestMain(m *testing.M) {
	proctest.SideBySide(8)
	goleak.VerifyTestMain(m)
}

func TestLaws(t *testing.T) {
	t.Parallel()
	s := newService(t)
	locktest.Run(t, locktest.Subject{
		Open:     s.open(ttl),
		Restart:  s.restart,
		Fair:     true,
		Shared:   true,
		Inspects: true,
		TTL:      ttl,
		// Half a second is etcd's own, up to two are the client's (see
		// etcdlock.New), the rest is for a busy machine.
		Slack: 5 * time.Second,
		// The lease of one that waits runs out where a busy machine does not renew it in time.
		Again: func(err error) bool { return errors.Is(err, concurrency.ErrSessionExpired) },
	})
}

// open connects clients whose links can be cut.
func (s *service) open(ttl time.Duration) func(context.Context) (locktest.Client, error) {
	return func(context.Context) (locktest.Client, error) {
		client, l, err := s.connect()
		if err != nil {
			return locktest.Client{}, err
		}
		b, err := etcdlock.New(client, ttl)
		return locktest.Client{
			Backend: b,
			Crash:   l.cut,
			Wake:    l.mend,
			// gRPC gives its goodbye on a cut link 5 s.
			Close: func() { l.mend(); client.Close() },
		}, err
	}
}

// service is an etcd that can be restarted.
type service struct {
	*etcdserver.Server
	dir string
}

func newService(t *testing.T) *service {
	t.Helper()
	dir := t.TempDir()
	server, err := etcdserver.Start(etcdserver.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	s := &service{server, dir}
	t.Cleanup(func() { s.Close() })
	return s
}

func (s *service) restart(context.Context) (err error) {
	s.Close()
	again, err := etcdserver.Start(etcdserver.Config{Dir: s.dir, ClientAddr: s.Endpoint()})
	if err == nil {
		s.Server = again
	}
	return err
}

func (s *service) connect() (*clientv3.Client, *link, error) {
	l := newLink()
	c, err := clientv3.New(clientv3.Config{
		Endpoints:   []string{s.Endpoint()},
		DialTimeout: time.Second,
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(l.dial)},
		Logger:      zap.NewNop(),
	})
	return c, l, err
}
