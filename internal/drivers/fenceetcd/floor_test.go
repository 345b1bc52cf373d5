package fenceetcd_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/internal/service/etcd/etcdserver"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fenceetcd"
)

func raise(t *testing.T, kv clientv3.KV, floor fence.Token) int {
	t.Helper()
	n, err := fenceetcd.Raise(t.Context(), kv, floor)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestRaiseDropsPageByPage with etcd's default limit on a Txn. Each scope is the
// beginning of the next, with nothing in between.
func TestRaiseDropsPageByPage(t *testing.T) {
	client := connect(t, serve(t, etcdserver.Config{MaxTxnOps: 128}))
	const scopes, below = 300, 250
	scope := func(i int) string { return strings.Repeat("\x00", i+1) }
	for i := range scopes {
		c := fence.Claim{Scope: scope(i), Token: 3, Sequence: 9}
		if i >= below {
			c.Token = fence.Token(4 + i%2)
		}
		if _, err := fenceetcd.Do(t.Context(), client, c); err != nil {
			t.Fatal(err)
		}
	}
	if n := raise(t, client, 4); n != below {
		t.Errorf("%d marks dropped, want %d", n, below)
	}
	left, err := client.Get(t.Context(), "fence.marks/", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil || left.Count != scopes-below {
		t.Errorf("%d marks left, %v, want %d", left.Count, err, scopes-below)
	}
	for i := range scopes {
		want := fence.Mark{Token: 4}
		if i >= below {
			want = fence.Mark{Token: fence.Token(4 + i%2), Sequence: 9}
		}
		if m, err := fenceetcd.Mark(t.Context(), client, scope(i)); err != nil || m != want {
			t.Errorf("scope %d: mark %+v, %v, want %+v", i, m, err, want)
		}
	}
}

func TestFloorNeverFalls(t *testing.T) {
	client := etcd(t)
	raise(t, client, 34)
	raise(t, client, 33)
	if f, err := fenceetcd.Floor(t.Context(), client); err != nil || f != 34 {
		t.Errorf("floor %v, %v, want 34", f, err)
	}
	for _, bad := range []fence.Token{0, -1} {
		if _, err := fenceetcd.Raise(t.Context(), client, bad); !errors.Is(err, fence.ErrInvalidToken) {
			t.Errorf("a floor of %d: %v, want ErrInvalidToken", bad, err)
		}
	}
	_, err := fenceetcd.Do(t.Context(), client, fence.Claim{Scope: "never seen", Token: 33})
	var stale *fence.StaleError
	if !errors.As(err, &stale) || *stale != (fence.StaleError{Scope: "never seen", Token: 33, Mark: 34}) {
		t.Errorf("under the floor: %v, want stale with the floor as mark", err)
	}
	if _, err := fenceetcd.Do(t.Context(), client, fence.Claim{Scope: "never seen", Token: 34}); err != nil {
		t.Errorf("the floor itself: %v, want it admitted", err)
	}
}

// TestRaiseDropsBothModes: a scope's two marks go one by one.
func TestRaiseDropsBothModes(t *testing.T) {
	client := etcd(t)
	for _, c := range []fence.Claim{
		{Scope: "both", Token: 2}, {Scope: "both", Token: 3, Mode: fence.Shared},
		{Scope: "one", Token: 3}, {Scope: "one", Token: 5, Mode: fence.Shared},
		{Scope: "none", Token: 4}, {Scope: "none", Token: 6, Mode: fence.Shared},
	} {
		if _, err := fenceetcd.Do(t.Context(), client, c); err != nil {
			t.Fatal(err)
		}
	}
	if n := raise(t, client, 4); n != 3 {
		t.Errorf("%d marks dropped, want 3", n)
	}
	for scope, want := range map[string]fence.Mark{"both": {Token: 4}, "one": {Token: 4, Shared: 5}, "none": {Token: 4, Shared: 6}} {
		if m, err := fenceetcd.Mark(t.Context(), client, scope); err != nil || m != want {
			t.Errorf("%s: mark %+v, %v, want %+v", scope, m, err, want)
		}
	}
}

// between calls f between Raise's look at the marks and their removal.
type between struct {
	clientv3.KV
	f func()
}

func (b between) Get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	resp, err := b.KV.Get(ctx, key, opts...)
	b.f()
	return resp, err
}

// TestRaiseWhileClaimsCome: what comes after Raise has looked at the marks, and
// before it drops them.
func TestRaiseWhileClaimsCome(t *testing.T) {
	client := etcd(t)
	do := func(c fence.Claim) error {
		_, err := fenceetcd.Do(t.Context(), client, c)
		return err
	}
	for _, scope := range []string{"raised", "idle"} {
		if err := do(fence.Claim{Scope: scope, Token: 33}); err != nil {
			t.Fatal(err)
		}
	}
	dropped, err := fenceetcd.Raise(t.Context(), between{client, sync.OnceFunc(func() {
		if err := do(fence.Claim{Scope: "raised", Token: 35, Sequence: 2}); err != nil {
			t.Errorf("a later tenure: %v, want it admitted", err)
		}
		for _, scope := range []string{"idle", "new"} {
			if err := do(fence.Claim{Scope: scope, Token: 33}); !errors.Is(err, fence.ErrStale) {
				t.Errorf("%s, under the coming floor: %v, want ErrStale", scope, err)
			}
		}
	})}, 34)
	if err != nil || dropped != 1 {
		t.Errorf("dropped %d, %v, want 1", dropped, err)
	}
	if m, err := fenceetcd.Mark(t.Context(), client, "raised"); err != nil || m != (fence.Mark{Token: 35, Sequence: 2}) {
		t.Errorf("mark %+v, %v, want that of the later tenure", m, err)
	}
}

func TestRaiseTellsDamage(t *testing.T) {
	client := etcd(t)
	if _, err := client.Put(t.Context(), "fence.marks/bad", "34"); err != nil {
		t.Fatal(err)
	}
	if _, err := fenceetcd.Raise(t.Context(), client, 5); err == nil || !strings.Contains(err.Error(), "fence.marks/bad") {
		t.Errorf("got %v, want the key of the damaged mark", err)
	}
	if got, err := client.Get(t.Context(), "fence.marks/bad"); err != nil || got.Count != 1 {
		t.Errorf("it is gone: %v, %v", got, err)
	}
}

// TestRaceWithRaise: claims of many tenures race with floors. Whatever order they
// come in, what a token wrote no lower one overwrites, and marks never fall.
func TestRaceWithRaise(t *testing.T) {
	client := etcd(t)
	ctx := t.Context()
	const writers, writes, top = 4, 200, 1000
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			var highest fence.Token
			for i := range writes {
				token := fence.Token(1 + i*top/writes + rand.IntN(50))
				_, err := fenceetcd.Do(ctx, client, fence.Claim{Scope: "a", Token: token}, clientv3.OpPut("k", token.String()))
				switch {
				case err == nil && token < highest:
					t.Errorf("token %d was admitted after %d", token, highest)
				case err == nil:
					highest = token
				case !errors.Is(err, fence.ErrStale):
					t.Errorf("token %d: %v", token, err)
				}
			}
		})
	}
	wg.Go(func() {
		for floor := range fence.Token(top) {
			if floor%10 != 1 {
				continue
			}
			if _, err := fenceetcd.Raise(ctx, client, floor); err != nil {
				t.Errorf("Raise(%d): %v", floor, err)
			}
			if m, err := fenceetcd.Mark(ctx, client, "a"); err != nil || m.Token < floor {
				t.Errorf("mark %+v, %v, want %d or more", m, err, floor)
			}
		}
	})
	wg.Wait()
	history, err := client.Get(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	var before fence.Token
	for rev := history.Kvs[0].CreateRevision; rev <= history.Kvs[0].ModRevision; rev++ {
		then, err := client.Get(ctx, "k", clientv3.WithRev(rev))
		if err != nil {
			t.Fatal(err)
		}
		token, err := fence.ParseToken(string(then.Kvs[0].Value))
		if err != nil {
			t.Fatal(err)
		}
		if token < before {
			t.Fatalf("at revision %d token %d overwrote %d", rev, token, before)
		}
		before = token
	}
}
