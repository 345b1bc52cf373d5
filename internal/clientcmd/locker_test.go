package clientcmd

import (
	"context"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/fencelab/fencelab/internal/etcdserver"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// TestLockerObeysTheLaws, where it shows the token that it should. How it crashes
// is the affair of etcdlock.
func TestLockerObeysTheLaws(t *testing.T) {
	t.Parallel()
	server, err := etcdserver.Start(etcdserver.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	const ttl = time.Second
	locktest.Run(t, locktest.Subject{
		Open: func(context.Context) (locktest.Client, error) {
			client, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Endpoint()}, Logger: zap.NewNop()})
			if err != nil {
				return locktest.Client{}, err
			}
			l, err := newLocker(client, ttl, tokenRevision)
			return locktest.Client{Backend: l, Close: func() { client.Close() }}, err
		},
		TTL:   ttl,
		Slack: 3 * time.Second, // as for etcdlock
	})
}
