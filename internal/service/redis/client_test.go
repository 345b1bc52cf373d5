package redis_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	"github.com/fencelab/fencelab/internal/network"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/redis"
	"github.com/fencelab/fencelab/internal/service/redis/redistest"
	"github.com/fencelab/fencelab/internal/setting"
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
	if _, err := dial(t, door.Addr()).Lock(waiting, "/lock", ""); err != context.Canceled {
		t.Errorf("the wait ended with: %v; want: %v", err, context.Canceled)
	}
}

// dial makes a client with the default settings.
func dial(t *testing.T, addr string) service.Client {
	t.Helper()
	d := redis.Dialer{}
	settings := setting.Defaults(append(d.ClientSettings(), setting.Client...))
	client, err := d.Dial(service.Options{Endpoints: []string{addr}, Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(t.Context()) })
	return client
}
