package fenceetcd_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/namespace"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/fencelab/fencelab/internal/service/etcd/etcdserver"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fenceetcd"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func serve(t *testing.T, c etcdserver.Config) *etcdserver.Server {
	t.Helper()
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	s, err := etcdserver.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func connect(t *testing.T, s *etcdserver.Server, change ...func(*clientv3.Config)) *clientv3.Client {
	t.Helper()
	config := clientv3.Config{Endpoints: []string{s.Endpoint()}, Logger: zap.NewNop()}
	for _, f := range change {
		f(&config)
	}
	c, err := clientv3.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// etcd is an etcd with no keys yet.
func etcd(t *testing.T) *clientv3.Client { return connect(t, serve(t, etcdserver.Config{})) }

// store is the smallest store on the package.
type store struct {
	kv clientv3.KV
	ns string
	// bound is nil where none is known.
	bound func(fence.Claim) (fence.Token, error)
}

func (s *store) do(ctx context.Context, c fence.Claim, op clientv3.Op) (*clientv3.TxnResponse, error) {
	return fenceetcd.Store{KV: s.kv, Bound: s.bound}.Do(ctx, c, op)
}

func (s *store) Write(ctx context.Context, c fence.Claim, key, value string) error {
	_, err := s.do(ctx, c, clientv3.OpPut(key, value))
	return err
}

func (s *store) Delete(ctx context.Context, c fence.Claim, key string) error {
	_, err := s.do(ctx, c, clientv3.OpDelete(key))
	return err
}

func (s *store) Read(ctx context.Context, c fence.Claim, key string) (string, bool, error) {
	if c.Token == 0 {
		got, err := s.kv.Get(ctx, key)
		if err != nil || len(got.Kvs) == 0 {
			return "", false, err
		}
		return string(got.Kvs[0].Value), true, nil
	}
	resp, err := s.do(ctx, c, clientv3.OpGet(key))
	if err != nil {
		return "", false, err
	}
	if kvs := resp.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
		return string(kvs[0].Value), true, nil
	}
	return "", false, nil
}

// TestLaws: each store is a namespace, so that one etcd serves them all.
func TestLaws(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := serve(t, etcdserver.Config{Dir: dir})
	client := connect(t, server)
	stores := 0
	fencetest.Run(t, fencetest.Subject{
		Open: func(context.Context) (fencetest.Store, error) {
			stores++
			ns := fmt.Sprintf("store%d/", stores)
			return &store{kv: namespace.NewKV(client, ns), ns: ns}, nil
		},
		OpenBounded: func(_ context.Context, bound fence.Token) (fencetest.Store, error) {
			stores++
			ns := fmt.Sprintf("store%d/", stores)
			return &store{namespace.NewKV(client, ns), ns, func(fence.Claim) (fence.Token, error) { return bound, nil }}, nil
		},
		Second: func(_ context.Context, s fencetest.Store) (fencetest.Store, error) {
			ns := s.(*store).ns
			return &store{kv: namespace.NewKV(connect(t, server), ns), ns: ns}, nil
		},
		Idle: time.Second,
		Restart: func(_ context.Context, s fencetest.Store) (fencetest.Store, error) {
			addr := server.Endpoint()
			server.Close()
			server = serve(t, etcdserver.Config{Dir: dir, ClientAddr: addr})
			client = connect(t, server)
			ns := s.(*store).ns
			return &store{kv: namespace.NewKV(client, ns), ns: ns}, nil
		},
	})
}

// TestNamespacesAreApart: two applications with the same scopes, and one that
// uses no namespace.
func TestNamespacesAreApart(t *testing.T) {
	client := etcd(t)
	kvs := []clientv3.KV{namespace.NewKV(client, "one/"), namespace.NewKV(client, "two/"), client}
	for i, kv := range kvs {
		token := fence.Token(30 - 10*i) // falling, so that a shared mark would refuse
		c := fence.Claim{Scope: "a", Token: token, Sequence: 7}
		resp, err := fenceetcd.Do(t.Context(), kv, c, clientv3.OpPut("k", token.String()), clientv3.OpGet("k"))
		if err != nil {
			t.Fatalf("application %d: %v", i, err)
		}
		if kv := resp.Responses[1].GetResponseRange().Kvs[0]; string(kv.Key) != "k" || string(kv.Value) != token.String() {
			t.Errorf("application %d reads %s=%s, want k=%v", i, kv.Key, kv.Value, token)
		}
	}
	if _, err := fenceetcd.Raise(t.Context(), kvs[0], 31); err != nil {
		t.Fatal(err)
	}
	for i, want := range []fence.Mark{{Token: 31}, {Token: 20, Sequence: 7}, {Token: 10, Sequence: 7}} {
		if m, err := fenceetcd.Mark(t.Context(), kvs[i], "a"); err != nil || m != want {
			t.Errorf("application %d: mark %+v, %v, want %+v", i, m, err, want)
		}
	}
}

func TestResponseIsThatOfTheOps(t *testing.T) {
	client := etcd(t)
	for _, c := range []fence.Claim{{Scope: "a", Token: 34}, {Scope: "a", Token: 34, Sequence: 1}} {
		resp, err := fenceetcd.Do(t.Context(), client, c,
			clientv3.OpPut("k", c.Token.String()),
			clientv3.OpTxn([]clientv3.Cmp{clientv3.Compare(clientv3.Version("none"), "=", 0)}, []clientv3.Op{clientv3.OpPut("nested", "")}, nil),
			clientv3.OpDelete("absent"),
			clientv3.OpGet("k"))
		if err != nil {
			t.Fatal(err)
		}
		r := resp.Responses
		if len(r) != 4 || r[0].GetResponsePut() == nil || !r[1].GetResponseTxn().GetSucceeded() || r[2].GetResponseDeleteRange() == nil || len(r[3].GetResponseRange().GetKvs()) != 1 {
			t.Fatalf("%+v: responses %v, want those of put, Txn, delete, get", c, r)
		}
		if rev := r[3].GetResponseRange().Kvs[0].ModRevision; !resp.Succeeded || rev != resp.Header.Revision {
			t.Errorf("%+v: succeeded %v at revision %d, the put is of %d", c, resp.Succeeded, resp.Header.Revision, rev)
		}
	}
}

// TestOneRoundTrip counts what goes over the wire, admitted or refused. What is
// refused whatever the mark is does not even need a server.
func TestOneRoundTrip(t *testing.T) {
	var sent atomic.Int64
	client := connect(t, serve(t, etcdserver.Config{}), func(c *clientv3.Config) {
		c.DialOptions = append(c.DialOptions, grpc.WithChainUnaryInterceptor(
			func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
				sent.Add(1)
				return invoke(ctx, method, req, reply, cc, opts...)
			}))
	})
	for _, tt := range []struct {
		claim fence.Claim
		err   error
		sent  int64
	}{
		{fence.Claim{Scope: "a", Token: 34}, nil, 1},
		{fence.Claim{Scope: "a", Token: 34}, nil, 1},
		{fence.Claim{Scope: "a", Token: 34, Sequence: 3}, nil, 1},
		{fence.Claim{Scope: "a", Token: 34, Sequence: 3}, fence.ErrDuplicate, 1},
		{fence.Claim{Scope: "a", Token: 34, Sequence: 2}, &fence.StaleError{Scope: "a", Token: 34, Mark: 34, Sequence: 2, MarkSequence: 3}, 1},
		{fence.Claim{Scope: "a", Token: 33}, &fence.StaleError{Scope: "a", Token: 33, Mark: 34}, 1},
		{fence.Claim{Scope: "a", Token: 35, Sequence: 1}, nil, 1},
		{fence.Claim{Scope: "a", Token: 37, Mode: fence.Shared}, nil, 1},
		{fence.Claim{Scope: "a", Token: 36, Mode: fence.Shared}, nil, 1},
		{fence.Claim{Scope: "a", Token: 34, Mode: fence.Shared}, &fence.StaleError{Scope: "a", Token: 34, Mark: 35}, 1},
		{fence.Claim{Scope: "a", Token: 36}, &fence.StaleError{Scope: "a", Token: 36, Mark: 37, MarkMode: fence.Shared}, 1},
		{fence.Claim{Scope: "a"}, fence.ErrNoToken, 0},
		{fence.Claim{Scope: "a", Token: 38, Sequence: 1, Mode: fence.Shared}, fence.ErrInvalidSequence, 0},
		{fence.Claim{Scope: "a", Token: -1}, fence.ErrInvalidToken, 0},
		{fence.Claim{Scope: "a", Token: 35, Sequence: -1}, fence.ErrInvalidSequence, 0},
		{fence.Claim{Token: 35}, fence.ErrInvalidScope, 0},
	} {
		sent.Store(0)
		_, err := fenceetcd.Do(t.Context(), client, tt.claim, clientv3.OpPut("k", "v"))
		if _, stale := tt.err.(*fence.StaleError); stale && !reflect.DeepEqual(err, tt.err) || !stale && !errors.Is(err, tt.err) {
			t.Errorf("%+v: error %v, want %v", tt.claim, err, tt.err)
		}
		if n := sent.Load(); n != tt.sent {
			t.Errorf("%+v: %d requests, want %d", tt.claim, n, tt.sent)
		}
	}
}

// TestExtraOps: exactly as many operations as the documentation says go through.
func TestExtraOps(t *testing.T) {
	const n = 1024
	puts := make([]clientv3.Op, n+1)
	for i := range puts {
		puts[i] = clientv3.OpPut(fmt.Sprintf("k%d", i), "v")
	}
	client := connect(t, serve(t, etcdserver.Config{MaxTxnOps: n + fenceetcd.ExtraOps}))
	claim := fence.Claim{Scope: "a", Token: 34}
	resp, err := fenceetcd.Do(t.Context(), client, claim, puts[:n]...)
	if err != nil || len(resp.Responses) != n {
		t.Fatalf("%d operations: %v", n, err)
	}
	got, err := client.Get(t.Context(), "k", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil || got.Count != n {
		t.Fatalf("%d keys, %v, want %d", got.Count, err, n)
	}
	if _, err := fenceetcd.Do(t.Context(), client, claim, puts...); err == nil || !strings.Contains(err.Error(), "too many operations") {
		t.Errorf("%d operations: %v, want too many", n+1, err)
	}
}

// TestDamageIsTold: a mark that cannot be read is no mark of 0. What somebody may
// have put by hand, text, is above all tokens that etcd can give out.
func TestDamageIsTold(t *testing.T) {
	client := etcd(t)
	for _, key := range []string{"fence.marks/a", "fence.shared/a", "fence.floor"} {
		for _, bad := range []string{"34", "\x7f", strings.Repeat("\xff", 16), strings.Repeat("1", 17)} {
			if _, err := client.Put(t.Context(), key, bad); err != nil {
				t.Fatal(err)
			}
			_, err := fenceetcd.Do(t.Context(), client, fence.Claim{Scope: "a", Token: 1 << 60}, clientv3.OpPut("k", "v"))
			if err == nil || !strings.Contains(err.Error(), "damaged") || !strings.Contains(err.Error(), key) {
				t.Errorf("%s is %q: got %v, want an error that says so", key, bad, err)
			}
			if m, err := fenceetcd.Mark(t.Context(), client, "a"); err == nil {
				t.Errorf("%s is %q: mark %+v without an error", key, bad, m)
			}
		}
		if _, err := client.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := client.Get(t.Context(), "k"); err != nil || got.Count != 0 {
		t.Errorf("a write went through: %v, %v", got, err)
	}
}

// TestKnownTenureNeedsNoIssuer: a token up to the mark of either mode was issued.
func TestKnownTenureNeedsNoIssuer(t *testing.T) {
	bound, away := fence.Token(40), error(nil)
	s := fenceetcd.Store{KV: etcd(t), Bound: func(fence.Claim) (fence.Token, error) { return bound, away }}
	for _, mode := range []fence.Mode{fence.Exclusive, fence.Shared} {
		away = nil
		c := fence.Claim{Scope: mode.String(), Token: 38, Mode: mode}
		if _, err := s.Do(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		away = errors.New("the issuer does not answer")
		if _, err := s.Do(t.Context(), c); err != nil {
			t.Errorf("%+v, which is known: %v", c, err)
		}
		c.Token++
		if _, err := s.Do(t.Context(), c); !errors.Is(err, fence.ErrNoBound) {
			t.Errorf("%+v: %v, want ErrNoBound", c, err)
		}
	}
}

// TestEncoding: marks are kept as they always were, and shared ones beside them.
func TestEncoding(t *testing.T) {
	client := etcd(t)
	if _, err := client.Put(t.Context(), "fence.marks/a", "\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x02"); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		claim  fence.Claim
		err    error
		mark   fence.Mark
		shared int64
	}{
		{fence.Claim{Scope: "a", Token: 4, Mode: fence.Shared}, fence.ErrStale, fence.Mark{Token: 5, Sequence: 2}, 0},
		{fence.Claim{Scope: "a", Token: 7, Mode: fence.Shared}, nil, fence.Mark{Token: 5, Sequence: 2, Shared: 7}, 1},
		{fence.Claim{Scope: "a", Token: 8, Sequence: 1}, nil, fence.Mark{Token: 8, Sequence: 1}, 0},
	} {
		if _, err := fenceetcd.Do(t.Context(), client, step.claim); !errors.Is(err, step.err) {
			t.Errorf("%+v: %v, want %v", step.claim, err, step.err)
		}
		if m, err := fenceetcd.Mark(t.Context(), client, "a"); err != nil || m != step.mark {
			t.Errorf("after %+v: mark %+v, %v, want %+v", step.claim, m, err, step.mark)
		}
		if got, err := client.Get(t.Context(), "fence.shared/a"); err != nil || got.Count != step.shared {
			t.Errorf("after %+v: %d shared marks, %v, want %d", step.claim, got.Count, err, step.shared)
		}
	}
	got, err := client.Get(t.Context(), "fence.marks/a")
	if err != nil {
		t.Fatal(err)
	}
	if want := "\x00\x00\x00\x00\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00\x01"; string(got.Kvs[0].Value) != want {
		t.Errorf("the mark is %x, want %x", got.Kvs[0].Value, want)
	}
}

func TestMarkOfNothing(t *testing.T) {
	client := etcd(t)
	if m, err := fenceetcd.Mark(t.Context(), client, "a"); err != nil || m != (fence.Mark{}) {
		t.Errorf("mark %+v, %v, want none", m, err)
	}
	if f, err := fenceetcd.Floor(t.Context(), client); err != nil || f != 0 {
		t.Errorf("floor %v, %v, want none", f, err)
	}
	if _, err := fenceetcd.Mark(t.Context(), client, ""); !errors.Is(err, fence.ErrInvalidScope) {
		t.Errorf("got %v, want ErrInvalidScope", err)
	}
}
