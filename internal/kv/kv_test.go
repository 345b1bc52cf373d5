package kv_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/fencelab/fencelab/internal/kv"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// engineStore shows an engine to the laws.
type engineStore struct{ kv.Engine }

func (s engineStore) Write(ctx context.Context, c fence.Claim, key, value string) error {
	return s.Engine.Write(ctx, kv.Request{Claim: c}, kv.Op{Kind: kv.OpWrite, Key: key, Value: value})
}

func (s engineStore) Delete(ctx context.Context, c fence.Claim, key string) error {
	return s.Engine.Write(ctx, kv.Request{Claim: c}, kv.Op{Kind: kv.OpDelete, Key: key})
}

func (s engineStore) Read(ctx context.Context, c fence.Claim, key string) (string, bool, error) {
	return found(s.Engine.Read(ctx, kv.Request{Claim: c}, key))
}

// clientStore shows a whole storage, through HTTP and back, to the laws.
type clientStore struct{ *kv.Client }

func (s clientStore) Write(ctx context.Context, c fence.Claim, key, value string) error {
	_, err := s.Client.Write(ctx, kv.Request{Claim: c}, key, value)
	return err
}

func (s clientStore) Delete(ctx context.Context, c fence.Claim, key string) error {
	_, err := s.Client.Delete(ctx, kv.Request{Claim: c}, key)
	return err
}

func (s clientStore) Read(ctx context.Context, c fence.Claim, key string) (string, bool, error) {
	return found(s.Client.Read(ctx, kv.Request{Claim: c}, key))
}

func found(item kv.Item, err error) (string, bool, error) {
	if errors.Is(err, kv.ErrNotFound) {
		return "", false, nil
	}
	return item.Value, err == nil, err
}

func bounded(bound fence.Token) kv.MemoryOptions {
	return kv.MemoryOptions{Bound: func(fence.Claim) (fence.Token, error) { return bound, nil }}
}

func TestMemoryObeysTheLaws(t *testing.T) {
	fencetest.Run(t, fencetest.Subject{
		Open: func(context.Context) (fencetest.Store, error) {
			return engineStore{kv.NewMemory(kv.MemoryOptions{})}, nil
		},
		OpenBounded: func(_ context.Context, bound fence.Token) (fencetest.Store, error) {
			return engineStore{kv.NewMemory(bounded(bound))}, nil
		},
	})
}

func TestStorageObeysTheLaws(t *testing.T) {
	open := func(o kv.MemoryOptions) fencetest.Store {
		srv := httptest.NewServer(kv.NewHandler(kv.NewMemory(o), kv.HandlerOptions{Metrics: kv.NewMetrics()}))
		t.Cleanup(srv.Close)
		return clientStore{kv.NewClient(srv.URL)}
	}
	fencetest.Run(t, fencetest.Subject{
		Open: func(context.Context) (fencetest.Store, error) { return open(kv.MemoryOptions{}), nil },
		OpenBounded: func(_ context.Context, bound fence.Token) (fencetest.Store, error) {
			return open(bounded(bound)), nil
		},
	})
}

// TestControlBreaksTheLaws: without fencing the storage is what the laws are
// there to catch.
func TestControlBreaksTheLaws(t *testing.T) {
	s := fencetest.Subject{Open: func(context.Context) (fencetest.Store, error) {
		return engineStore{kv.NewMemory(kv.MemoryOptions{Unfenced: true})}, nil
	}}
	for _, law := range fencetest.Laws {
		switch law.Name {
		case "StaleWriteRefused", "StaleDeleteRefused", "MissingTokenRefused", "ReadRaisesMark":
			if err := law.Check(t.Context(), s); err == nil {
				t.Errorf("%s holds with fencing off", law.Name)
			}
		}
	}
}

func TestBatchIsAllOrNothing(t *testing.T) {
	ctx := t.Context()
	m := kv.NewMemory(kv.MemoryOptions{})
	req := func(token fence.Token) kv.Request {
		return kv.Request{Claim: fence.Claim{Scope: "/lock", Token: token}}
	}
	three := func(v string) []kv.Op {
		return []kv.Op{{Kind: kv.OpWrite, Key: "a", Value: v}, {Kind: kv.OpDelete, Key: "b"}, {Kind: kv.OpWrite, Key: "c", Value: v}}
	}
	if err := m.Write(ctx, req(34), three("new")...); err != nil {
		t.Fatal(err)
	}
	if err := m.Write(ctx, req(33), three("stale")...); !errors.Is(err, fence.ErrStale) {
		t.Fatalf("got %v, want ErrStale", err)
	}
	for _, key := range []string{"a", "c"} {
		if item, err := m.Read(ctx, kv.Request{}, key); err != nil || item != (kv.Item{Value: "new", Token: 34}) {
			t.Errorf("%s: %+v, %v", key, item, err)
		}
	}
}

// TestObserverSeesTheOrder: the account that the verdict is made of has each
// operation once, in the order in which it took place.
func TestObserverSeesTheOrder(t *testing.T) {
	ctx := t.Context()
	var records []kv.Record
	m := kv.NewMemory(kv.MemoryOptions{Observe: func(r kv.Record) { records = append(records, r) }})
	req := func(token fence.Token, id string) kv.Request {
		return kv.Request{Claim: fence.Claim{Scope: "/lock", Token: token}, ID: id}
	}
	write := func(v string) kv.Op { return kv.Op{Kind: kv.OpWrite, Key: "a", Value: v} }
	_ = m.Write(ctx, req(34, "1"), write("new"))
	_ = m.Write(ctx, req(33, "2"), write("stale"))
	_, _ = m.Read(ctx, kv.Request{ID: "3"}, "a")
	_, _ = m.Read(ctx, req(33, "4"), "a")
	_, _ = m.Read(ctx, req(35, "5"), "b")
	_ = m.Write(ctx, req(35, "6"), kv.Op{Kind: kv.OpDelete, Key: "a"})
	type seen struct {
		id, op, value string
		mark          fence.Token
		missing, no   bool
	}
	var got []seen
	for i, r := range records {
		if r.Index != int64(i+1) {
			t.Errorf("record %d has index %d", i, r.Index)
		}
		got = append(got, seen{r.Request.ID, r.Op.Kind, r.Op.Value, r.Mark, r.Missing, r.Err != nil})
	}
	want := []seen{
		{"1", "write", "new", 34, false, false},
		{"2", "write", "stale", 0, false, true},
		{"3", "read", "new", 0, false, false},
		{"4", "read", "", 0, false, true},
		{"5", "read", "", 35, true, false},
		{"6", "delete", "", 35, false, false},
	}
	if len(got) != len(want) {
		t.Fatalf("got %+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("record %d: got %+v, want %+v", i+1, got[i], want[i])
		}
	}
}
