package etcdlock_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/fencelab/fencelab/internal/service/etcd/etcdserver"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

func TestBound(t *testing.T) {
	server, err := etcdserver.Start(etcdserver.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Endpoint()}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	marks := fence.Register{Bound: etcdlock.Bound(client, 5*time.Second)}
	admit := func(token fence.Token) error {
		return marks.Do(t.Context(), fence.Claim{Scope: "/lock", Token: token}, func(context.Context) error { return nil })
	}
	put := func() fence.Token {
		resp, err := client.Put(t.Context(), "key", "")
		if err != nil {
			t.Fatal(err)
		}
		return fence.Token(resp.Header.Revision)
	}
	now := put()
	var ahead *fence.AheadError
	if err := admit(math.MaxInt64); !errors.As(err, &ahead) || ahead.Bound != now {
		t.Errorf("got %v, want an AheadError with bound %d", err, now)
	}
	if err := admit(now + 1); !errors.Is(err, fence.ErrAhead) {
		t.Errorf("one above the revision: got %v, want ErrAhead", err)
	}
	if err := admit(put()); err != nil {
		t.Errorf("the newest revision: %v", err)
	}
	newest := put()
	_ = admit(math.MaxInt64) // tells the newest revision
	server.Close()
	if err := admit(newest); err != nil {
		t.Errorf("a revision that is known, without etcd: %v", err)
	}
}

// TestBoundWithoutEtcd: what cannot be found out is refused, and not for good.
func TestBoundWithoutEtcd(t *testing.T) {
	server, err := etcdserver.Start(etcdserver.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Endpoint()}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server.Close()
	marks := fence.Register{Bound: etcdlock.Bound(client, 100*time.Millisecond)}
	err = marks.Do(t.Context(), fence.Claim{Scope: "/lock", Token: 2}, func(context.Context) error { t.Error("it was admitted"); return nil })
	if !errors.Is(err, fence.ErrNoBound) {
		t.Errorf("got %v, want ErrNoBound", err)
	}
}
