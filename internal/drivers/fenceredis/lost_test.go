package fenceredis_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/internal/service/redis/redistest"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fenceredis"
)

// losing makes connections that lose an answer when they are told to: Redis has sent it, and
// then the connection breaks.
type losing struct {
	lose atomic.Bool
	lost func() // called when an answer is lost
}

func (l *losing) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	return losingConn{conn, l}, err
}

type losingConn struct {
	net.Conn
	of *losing
}

func (c losingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == nil && c.of.lose.CompareAndSwap(true, false) {
		c.of.lost()
		return 0, errors.Join(io.ErrUnexpectedEOF, c.Close())
	}
	return n, err
}

// TestLostAnswer: the commands took place, once, and the outcome is unknown, though go-redis
// would send them again. A claim with a sequence number can be sent again.
func TestLostAnswer(t *testing.T) {
	for name, server := range redistest.Servers() {
		t.Run(name, func(t *testing.T) {
			s := server(t)
			var net losing
			client := redis.NewClient(&redis.Options{Addr: s.Addr, Dialer: net.dial})
			t.Cleanup(func() { client.Close() })
			t.Run("a request a call", func(t *testing.T) { lostAnswers(t, s, &net, client) })
			shared, err := client.AutoPipeline()
			if err != nil {
				t.Fatal(err)
			}
			t.Run("pipelined", func(t *testing.T) { lostAnswers(t, s, &net, shared) })
		})
	}
}

func lostAnswers(t *testing.T, s *redisproc.Server, net *losing, client redis.UniversalClient) {
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	a, b := fenceredis.Store{Client: client}, fenceredis.Store{Client: redistest.Connect(t, s)}
	count := fenceredis.Cmd("INCR", "{/lock}n")
	if _, err := a.Do(t.Context(), fence.Claim{Scope: "/lock", Token: 1}); err != nil { // Redis knows the script
		t.Fatal(err)
	}
	for n, later := range []fence.Claim{{}, {Scope: "/lock", Token: 9}} {
		claim := fence.Claim{Scope: "/lock", Token: fence.Token(n + 2), Sequence: 1}
		net.lost = func() {
			if later.Token == 0 {
				return
			}
			// A copy of the lost claim would be refused as stale.
			if _, err := b.Do(t.Context(), later); err != nil {
				t.Error(err)
			}
		}
		net.lose.Store(true)
		answers, err := a.Do(t.Context(), claim, count)
		if err == nil || fence.OutcomeOf(err) != fence.Unknown || net.lose.Load() {
			t.Errorf("got %v, %v, outcome %v, want an unknown outcome", answers, err, fence.OutcomeOf(err))
		}
		if got, err := client.Get(t.Context(), "{/lock}n").Int(); got != n+1 {
			t.Errorf("%d commands took place, %v, want %d", got, err, n+1)
		}
		if _, err := a.Do(t.Context(), claim, count); later.Token == 0 && !errors.Is(err, fence.ErrDuplicate) {
			t.Errorf("sent again: %v, want ErrDuplicate", err)
		}
	}
}
