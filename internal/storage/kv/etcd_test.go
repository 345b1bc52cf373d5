package kv_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/namespace"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kv/kvtest"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fenceetcd"
)

// unlisted lets a floor be put, and none of the marks below it be found.
type unlisted struct{ clientv3.KV }

func (unlisted) Get(context.Context, string, ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	return nil, errors.New("cut off")
}

// TestSnapshotWhileTheFloorRises: a mark that the floor has overtaken and that is
// not dropped yet is no part of a snapshot, which can be restored.
func TestSnapshotWhileTheFloorRises(t *testing.T) {
	client := kvtest.Etcd(t)
	from := kv.NewEtcd(client, "/from/", kv.Options{})
	write(t, from, fence.Claim{Scope: "/lock", Token: 33}, "a", "x")
	if _, err := fenceetcd.Raise(t.Context(), unlisted{namespace.NewKV(client, "/from/")}, 40); err == nil {
		t.Fatal("nothing cut it off")
	}
	var b bytes.Buffer
	if err := kv.WriteSnapshot(t.Context(), from, &b); err != nil {
		t.Fatal(err)
	}
	into := kv.NewEtcd(client, "/into/", kv.Options{})
	if err := into.Restore(t.Context(), kv.ReadSnapshot(&b)); err != nil {
		t.Fatal(err)
	}
	if m, err := into.Mark(t.Context(), "/lock"); err != nil || m != (fence.Mark{Token: 40}) {
		t.Errorf("mark %+v, %v, want the floor", m, err)
	}
}

// TestEtcdSameKeyTwice: a batch may name a key more often than once; the last
// counts.
func TestEtcdSameKeyTwice(t *testing.T) {
	e := kv.NewEtcd(kvtest.Etcd(t), "/twice/", kv.Options{})
	err := e.Write(t.Context(), kv.Request{Claim: fence.Claim{Scope: "/lock", Token: 1}},
		kv.Op{Kind: kv.OpWrite, Key: "a", Value: "1"}, kv.Op{Kind: kv.OpDelete, Key: "a"},
		kv.Op{Kind: kv.OpWrite, Key: "b", Value: "1"}, kv.Op{Kind: kv.OpWrite, Key: "a", Value: "2"}, kv.Op{Kind: kv.OpDelete, Key: "b"})
	if err != nil {
		t.Fatal(err)
	}
	if item, err := e.Read(t.Context(), kv.Request{}, "a"); err != nil || item.Value != "2" {
		t.Errorf("a: %+v, %v", item, err)
	}
	if _, err := e.Read(t.Context(), kv.Request{}, "b"); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("b: %v", err)
	}
}
