package zklock_test

import (
	"context"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/drivers/drivertest"
	"github.com/fencelab/fencelab/internal/platform/network"
	"github.com/fencelab/fencelab/internal/service/zookeeper/zktest"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
	"github.com/fencelab/fencelab/pkg/lock/zklock"
)

// closer is a backend of zklock.
type closer interface {
	lock.Backend
	Close()
}

func readersAndWriters(servers []string, timeout time.Duration) (closer, error) {
	return zklock.New(servers, timeout)
}

func mutex(servers []string, timeout time.Duration) (closer, error) {
	return zklock.Mutex(servers, timeout)
}

// subject is a lock service of one server, whose clients each have a network of their own.
func subject(addr string, timeout time.Duration, open func([]string, time.Duration) (closer, error)) locktest.Subject {
	return locktest.Subject{
		Open: func(context.Context) (locktest.Client, error) {
			link, err := network.New(addr)
			if err != nil {
				return locktest.Client{}, err
			}
			b, err := open([]string{link.Addr()}, timeout)
			return locktest.Client{
				Backend: b,
				Crash:   func() { cut(link) },
				Wake:    func() { mend(link) },
				Close: func() {
					mend(link)
					b.Close()
					link.Close()
				},
			}, err
		},
		Fair:     true,
		Inspects: true,
		TTL:      timeout,
		Slack:    5 * time.Second, // for a busy machine
	}
}

// TestLaws: the locks with both kinds of nodes obey the laws.
func TestLaws(t *testing.T) {
	addr := zktest.Start(t, 1).Members[0].Addr
	t.Run("readers and writers", func(t *testing.T) {
		t.Parallel() // they wait more than they do
		s := subject(addr, ttl, readersAndWriters)
		s.Shared = true
		locktest.Run(t, s)
	})
	t.Run("mutex", func(t *testing.T) {
		t.Parallel()
		locktest.Run(t, subject(addr, ttl, mutex))
	})
}

// TestLawsOfRestarts: a server that is killed and started again knows the sessions. They are
// longer here than that takes.
func TestLawsOfRestarts(t *testing.T) {
	server := zktest.Start(t, 1).Members[0]
	s := subject(server.Addr, long, readersAndWriters)
	s.Shared = true
	s.Restart = func(ctx context.Context) error {
		if err := server.Process().Kill(); err != nil {
			return err
		}
		return server.Restart(ctx)
	}
	drivertest.LawsOfRestarts(t, s)
}
