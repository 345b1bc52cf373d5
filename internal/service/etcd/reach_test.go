package etcd_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/service/etcd"
	"github.com/fencelab/fencelab/internal/storage/kv/kvtest"
)

// TestReachEnds: nobody waits for a service that takes connections and says nothing.
func TestReachEnds(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	late := errors.New("late")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, late)
	defer cancel()
	if err := reach(ctx, []string{silent.Addr().String()}); !errors.Is(err, late) {
		t.Errorf("got %v, want %v", err, late)
	}
}

func TestReachWantsAddresses(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // so that no wrong one is tried
	for _, bad := range []string{"nonsense", "127.0.0.1", "", ":2379", "host:", "https://host:2379", "http://host",
		"host:2379/", "host:nonsense", "host:0", "host:65536", " host:2379", "user@host:2379"} {
		if err := reach(ctx, []string{"127.0.0.1:2379", bad}); err == nil || !strings.Contains(err.Error(), "want HOST:PORT") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, good := range []string{"host:2379", "http://host:2379", "[::1]:2379"} {
		if err := reach(ctx, []string{good}); !errors.Is(err, context.Canceled) {
			t.Errorf("%q: %v", good, err)
		}
	}
}

// TestReachWantsNoUser: a run has none, and etcd's own words do not say so.
func TestReachWantsNoUser(t *testing.T) {
	client := kvtest.Etcd(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := reach(ctx, client.Endpoints()); err != nil {
		t.Errorf("without authentication: %v", err)
	}
	for _, step := range []func() error{
		func() error { _, err := client.UserAdd(ctx, "root", "secret"); return err },
		func() error { _, err := client.UserGrantRole(ctx, "root", "root"); return err },
		func() error { _, err := client.AuthEnable(ctx); return err },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	if err := reach(ctx, client.Endpoints()); err == nil || !strings.Contains(err.Error(), "wants a user and a password") {
		t.Errorf("with authentication: %v", err)
	}
}

func reach(ctx context.Context, endpoints []string) error {
	return etcd.Service().Reach(ctx, endpoints)
}
