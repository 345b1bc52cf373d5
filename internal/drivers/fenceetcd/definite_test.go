package fenceetcd_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/fencelab/fencelab/internal/service/etcd/etcdserver"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fenceetcd"
)

// TestDefiniteErrors: errors as etcd really returns them, and nothing was done.
func TestDefiniteErrors(t *testing.T) {
	client := connect(t, serve(t, etcdserver.Config{MaxTxnOps: 12}))
	put := clientv3.OpPut("k", "v")
	claim := fence.Claim{Scope: "a", Token: 34}
	for name, tt := range map[string]struct {
		claim fence.Claim
		ops   []clientv3.Op
		want  error
	}{
		"too many operations": {claim, make([]clientv3.Op, 13), rpctypes.ErrTooManyOps},
		"a key twice":         {claim, []clientv3.Op{put, put}, rpctypes.ErrDuplicateKey},
		"the mark's own key":  {claim, []clientv3.Op{clientv3.OpPut("fence.marks/a", "")}, rpctypes.ErrDuplicateKey},
		"an empty key":        {claim, []clientv3.Op{put, clientv3.OpPut("", "")}, rpctypes.ErrEmptyKey},
		"too large for etcd":  {claim, []clientv3.Op{put, clientv3.OpPut("l", strings.Repeat("v", 3<<19))}, rpctypes.ErrRequestTooLarge},
		"too large to send":   {claim, []clientv3.Op{put, clientv3.OpPut("l", strings.Repeat("v", 2<<20))}, nil},
		"no token":            {fence.Claim{Scope: "a"}, []clientv3.Op{put}, fence.ErrNoToken},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range tt.ops {
				if tt.want == rpctypes.ErrTooManyOps {
					tt.ops[i] = clientv3.OpPut(fmt.Sprint("k", i), "v")
				}
			}
			_, err := fenceetcd.Do(t.Context(), client, tt.claim, tt.ops...)
			if err == nil || !fenceetcd.Definite(err) || fence.OutcomeOf(err) != fence.Definite || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("got %v, definite %v, want %v", err, fenceetcd.Definite(err), tt.want)
			}
		})
	}
	for _, prefix := range []string{"k", "l", "fence."} {
		if got, err := client.Get(t.Context(), prefix, clientv3.WithPrefix()); err != nil || got.Count != 0 {
			t.Errorf("%s: %v, %v, want nothing", prefix, got, err)
		}
	}
}

func TestNoPermissionIsDefinite(t *testing.T) {
	server := serve(t, etcdserver.Config{})
	root := connect(t, server)
	for _, setUp := range []func() error{
		func() error { _, err := root.UserAdd(t.Context(), "root", "secret"); return err },
		func() error { _, err := root.RoleAdd(t.Context(), "root"); return err },
		func() error { _, err := root.UserGrantRole(t.Context(), "root", "root"); return err },
		func() error { _, err := root.UserAdd(t.Context(), "guest", "secret"); return err },
		func() error { _, err := root.AuthEnable(t.Context()); return err },
	} {
		if err := setUp(); err != nil {
			t.Fatal(err)
		}
	}
	guest := connect(t, server, func(c *clientv3.Config) { c.Username, c.Password = "guest", "secret" })
	_, err := fenceetcd.Do(t.Context(), guest, fence.Claim{Scope: "a", Token: 34}, clientv3.OpPut("k", "v"))
	if !errors.Is(err, rpctypes.ErrPermissionDenied) || !fenceetcd.Definite(err) {
		t.Errorf("got %v, definite %v, want permission denied", err, fenceetcd.Definite(err))
	}
}

func TestDoubtIsIndefinite(t *testing.T) {
	server := serve(t, etcdserver.Config{})
	client := connect(t, server)
	claim := fence.Claim{Scope: "a", Token: 34}
	if _, err := fenceetcd.Do(t.Context(), client, claim); err != nil {
		t.Fatal(err)
	}
	server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := fenceetcd.Do(ctx, client, claim, clientv3.OpPut("k", "v"))
	if err == nil || fenceetcd.Definite(err) || !strings.Contains(err.Error(), "outcome unknown") {
		t.Errorf("etcd is gone: %v, definite %v", err, fenceetcd.Definite(err))
	}
	for _, err := range []error{
		nil, context.DeadlineExceeded, context.Canceled,
		rpctypes.ErrNoSpace, rpctypes.ErrLeaseNotFound, rpctypes.ErrLeaderChanged, rpctypes.ErrNoLeader, rpctypes.ErrTimeout,
		status.Error(codes.Unavailable, "error reading from server: EOF"),
		status.Error(codes.ResourceExhausted, "grpc: received message larger than max (3 vs. 2)"),
	} {
		if fenceetcd.Definite(err) {
			t.Errorf("%v is taken for definite", err)
		}
	}
}
