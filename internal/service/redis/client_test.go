package redis_test

import (
	"context"
	"errors"
	"maps"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/platform/network"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/redis"
	"github.com/fencelab/fencelab/internal/service/redis/redistest"
	"github.com/fencelab/fencelab/pkg/lock"
)

// TestNewConnections: a request goes by a connection that nobody has used before, as one
// that has broken meanwhile may look whole.
func TestNewConnections(t *testing.T) {
	link := network.NewTaking(redistest.Embedded(t).Addr)
	t.Cleanup(link.Close)
	var made atomic.Int32
	door, err := network.Listen(func(conn net.Conn) { made.Add(1); link.Take(conn) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(door.Close)
	client := dial(t, door.Addr())
	for i := range int32(3) {
		if err := client.Reach(t.Context()); err != nil {
			t.Fatal(err)
		}
		if made.Load() != i+1 {
			t.Errorf("after %d requests there were %d connections", i+1, made.Load())
		}
	}
}

// TestReachesMost: a client begins if it reaches more than half of its nodes.
func TestReachesMost(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nowhere, there := gone.Addr().String(), redistest.Embedded(t).Addr
	gone.Close()
	for _, tt := range []struct {
		nodes []string
		want  bool
	}{
		{[]string{there}, true},
		{[]string{nowhere}, false},
		{[]string{there, nowhere}, false},
		{[]string{nowhere, there, there}, true},
		{[]string{nowhere, there, nowhere}, false},
	} {
		if err := dialAll(t, tt.nodes, nil).Reach(t.Context()); (err == nil) != tt.want {
			t.Errorf("%q: %v", tt.nodes, err)
		}
	}
}

// TestLastAnswer: a wait that ends while a request is under way has the answer all the same.
func TestLastAnswer(t *testing.T) {
	server := redistest.Embedded(t).Addr
	if _, err := dial(t, server).TryLock(t.Context(), "/lock", ""); err != nil {
		t.Fatal(err)
	}
	link := network.NewTaking(server)
	t.Cleanup(link.Close)
	waiting, leave := context.WithCancel(t.Context())
	door, err := network.Listen(func(conn net.Conn) { leave(); link.Take(conn) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(door.Close)
	if _, err := dial(t, door.Addr()).Lock(waiting, "/lock", ""); !errors.Is(err, context.Canceled) || errors.As(err, new(*lock.UnknownError)) {
		t.Errorf("the wait ended with: %v; want: %v", err, context.Canceled)
	}
}

// TestSpinAsks: who spins asks again and again, though nobody tells that the lock is free and
// its holder's lease lasts for long. A waiter that listens has three connections.
func TestSpinAsks(t *testing.T) {
	server := redistest.Embedded(t).Addr
	spins := setting.Values{"by": "redisson-spin", setting.TTL: "10m"}
	if _, err := dialWith(t, server, spins).TryLock(t.Context(), "/lock", ""); err != nil {
		t.Fatal(err)
	}
	link := network.NewTaking(server)
	t.Cleanup(link.Close)
	asked := make(chan struct{}, 100)
	door, err := network.Listen(func(conn net.Conn) { asked <- struct{}{}; link.Take(conn) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(door.Close)
	place, err := dialWith(t, door.Addr(), spins).Enqueue(t.Context(), "/lock")
	if err != nil {
		t.Fatal(err)
	}
	for n := range 6 {
		select {
		case <-asked:
		case <-time.After(redistest.Deadline):
			t.Fatalf("the client has asked %d times", n)
		}
	}
	place.Leave()
	if err := <-place.Granted(); !errors.Is(err, context.Canceled) {
		t.Errorf("the wait ended with: %v", err)
	}
}

// dial makes a client with the default settings.
func dial(t *testing.T, addr string) service.Client {
	t.Helper()
	return dialWith(t, addr, nil)
}

// dialWith makes one with some settings of its own.
func dialWith(t *testing.T, addr string, own setting.Values) service.Client {
	t.Helper()
	return dialAll(t, []string{addr}, own)
}

func dialAll(t *testing.T, nodes []string, own setting.Values) service.Client {
	t.Helper()
	d := redis.Service()
	settings := setting.Defaults(append(d.Client, setting.Client...))
	maps.Copy(settings, own)
	client, err := d.Dial(service.Options{Endpoints: nodes, Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(t.Context()) })
	return client
}
