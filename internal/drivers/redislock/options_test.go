package redislock_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/drivers/drivertest"
	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/internal/service/redis/redistest"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
)

// TestRefusedOptions: what no lock can be made of is refused at once.
func TestRefusedOptions(t *testing.T) {
	client := func(addr string) redis.UniversalClient {
		c := connect(addr)
		t.Cleanup(func() { c.Close() })
		return c
	}
	one := client("127.0.0.1:1")
	quorum := func(clients ...redis.UniversalClient) error {
		_, err := redislock.Quorum(clients, time.Second)
		return err
	}
	with := func(c redis.UniversalClient, some ...redislock.Option) error {
		_, err := redislock.New(c, time.Second, some...)
		return err
	}
	for want, err := range map[string]error{
		"the client is nil":       with(nil),
		"client is nil, want":     with((*redis.ClusterClient)(nil)),
		`Prefix("{}")`:            with(one, redislock.Prefix("{}")),
		`Prefix("a{b")`:           with(one, redislock.Prefix("a{b")),
		`Prefix("a}")`:            with(one, redislock.Prefix("a}")),
		"node 3 of the quorum is": quorum(one, client("127.0.0.1:2"), client("127.0.0.1:1")),
		"node 2 of the quorum is": quorum(one, one, client("127.0.0.1:2")),
		"node 3 of the quorum":    quorum(one, client("127.0.0.1:2"), client("localhost:1")),
	} {
		if err == nil || !strings.Contains(err.Error(), want) || fence.OutcomeOf(err) != fence.Definite {
			t.Errorf("got %v, want %s, and that it is definite", err, want)
		}
	}
	for _, none := range []redis.UniversalClient{nil, (*redis.Client)(nil)} {
		if err := quorum(one, none, none); err == nil {
			t.Error("a quorum takes a client that is nil")
		}
	}
}

func TestExtensionsTakeTurns(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		a := join(t, s, own(long, redislock.FixedLease()))
		drivertest.ExtensionsTakeTurns(t, a.take(t).(lock.Extender), long, func(answer func()) {
			a.client.AddHook(hook(func(send func() error) error {
				err := send()
				answer()
				return err
			}))
		})
	})
}

// TestDoubtfulExtension: where nobody knows whether a lease was made shorter, it counts as that.
func TestDoubtfulExtension(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		a := join(t, s, own(long, redislock.FixedLease()))
		lease := a.take(t).(lock.Extender)
		a.client.AddHook(hook(unanswered))
		if err := lease.Extend(t.Context(), 20*time.Second); !isUnknown(err) {
			t.Errorf("Extend returned %v, want that its outcome is unknown", err)
		}
		if left := time.Until(lease.Until()); left > 20*time.Second {
			t.Errorf("the lease lasts %v, want 20 s at most", left)
		}
	})
}

func isUnknown(err error) bool { return errors.As(err, new(*lock.UnknownError)) }

// TestFullMemory: where Redis has no room left, no lock is granted, and who has one keeps it:
// readers as well as writers.
func TestFullMemory(t *testing.T) {
	t.Parallel()
	s := redistest.Real(t)
	a := join(t, s, own(long, redislock.FixedLease()))
	reader := granted(t, a.Backend.(lock.Sharer).RLock)
	writer, err := a.Lock(t.Context(), "/other")
	if err != nil {
		t.Fatal(err)
	}
	endWith(t, writer)
	if err := a.client.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.TryLock(t.Context(), "/new"); err == nil || errors.Is(err, lock.ErrLocked) {
		t.Errorf("TryLock returned %v, want that there is no room", err)
	}
	for name, tenure := range map[string]lock.Tenure{"reader": reader, "writer": writer} {
		if err := tenure.(lock.Extender).Extend(t.Context(), 2*long); err != nil {
			t.Errorf("the %s is not renewed: %v", name, err)
		}
		wantUnlock(t, tenure)
	}
}
