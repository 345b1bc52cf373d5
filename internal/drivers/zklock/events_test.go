package zklock_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/service/zookeeper/zktest"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
	"github.com/fencelab/fencelab/pkg/lock/zklock"
)

// eventsTTL is how long leases last while an observer is told of them: they are renewed in time on
// a busy machine, too.
const eventsTTL = 4 * time.Second

// TestEvents: an observer is told of everything. A session is renewed by a new connection, and
// is over where a server that does not know it says so.
func TestEvents(t *testing.T) {
	first := linkTo(t, zktest.Start(t, 1).Members[0].Addr)
	second := linkTo(t, newer(t).Addr)
	var at atomic.Value
	at.Store(first.Addr())
	dial := func(network, _ string, within time.Duration) (net.Conn, error) {
		return net.DialTimeout(network, at.Load().(string), within)
	}
	locktest.Observed{
		Subject: locktest.Subject{
			Open: func(context.Context) (locktest.Client, error) {
				b, err := zklock.New([]string{first.Addr()}, eventsTTL, zklock.Dialer(dial))
				return locktest.Client{
					Backend: b,
					Crash:   func() { cut(first); cut(second) },
					Wake:    func() { mend(first); mend(second) },
					Close:   b.Close,
				}, err
			},
			TTL: eventsTTL, Slack: 5 * time.Second,
		},
		Renew: func(locktest.Client) { reconnect(first) },
		Revoke: func(context.Context, lock.Grant) error {
			at.Store(second.Addr())
			first.Cut()
			return nil
		},
	}.Run(t)
}
