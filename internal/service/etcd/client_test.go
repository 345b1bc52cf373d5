package etcd_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/etcd"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdserver"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// TestClientObeysTheLaws, where it shows the token that it should. How it crashes
// is the affair of etcdlock.
func TestClientObeysTheLaws(t *testing.T) {
	t.Parallel()
	server, err := etcdserver.Start(etcdserver.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	const ttl = 5 * time.Second // others tell stories meanwhile
	settings := setting.Defaults(slices.Concat(setting.Client, etcd.Service().Client))
	settings[setting.TTL] = ttl.String()
	locktest.Run(t, locktest.Subject{
		Open: func(context.Context) (locktest.Client, error) {
			c, err := etcd.Service().Dial(service.Options{Endpoints: []string{server.Endpoint()}, Settings: settings})
			if err != nil {
				return locktest.Client{}, err
			}
			return locktest.Client{Backend: service.Backend(c), Close: func() { _ = c.Close(context.Background()) }}, nil
		},
		TTL:   ttl,
		Slack: 3 * time.Second, // as for etcdlock
	})
}
