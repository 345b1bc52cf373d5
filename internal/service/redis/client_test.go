package redis_test

import (
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
	d := redis.Dialer{}
	settings := setting.Defaults(append(d.ClientSettings(), setting.Client...))
	client, err := d.Dial(service.Options{Endpoints: []string{door.Addr()}, Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(t.Context()) })
	for i := range int32(3) {
		if err := client.Reach(t.Context()); err != nil {
			t.Fatal(err)
		}
		if made.Load() != i+1 {
			t.Errorf("after %d requests there were %d connections", i+1, made.Load())
		}
	}
}
