package kv_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kv/kvtest"
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
	return kvtest.Found(s.Engine.Read(ctx, kv.Request{Claim: c}, key))
}

func TestEnginesObeyTheLaws(t *testing.T) {
	t.Parallel()
	for _, k := range kvtest.Kinds {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			fencetest.Run(t, k.Subject(t,
				func(e kv.Engine) fencetest.Store { return engineStore{e} },
				func(s fencetest.Store) kv.Engine { return s.(engineStore).Engine }))
		})
	}
}

// TestControlBreaksTheLaws: without fencing the storage is what the laws are
// there to catch.
func TestControlBreaksTheLaws(t *testing.T) {
	for _, e := range kvtest.Kinds {
		s := fencetest.Subject{Open: func(context.Context) (fencetest.Store, error) {
			return engineStore{e.Open(t, kv.Options{Unfenced: true})}, nil
		}}
		for _, law := range fencetest.Laws {
			switch law.Name {
			case "StaleWriteRefused", "StaleDeleteRefused", "MissingTokenRefused", "ReadRaisesMark":
				if err := law.Check(t.Context(), s); err == nil {
					t.Errorf("%s: %s holds with fencing off", e.Name, law.Name)
				}
			}
		}
	}
}

func TestBatchIsAllOrNothing(t *testing.T) {
	t.Parallel()
	for _, e := range kvtest.Kinds {
		t.Run(e.Name, func(t *testing.T) { testBatch(t, e.Open(t, kv.Options{})) })
	}
}

func testBatch(t *testing.T, m kv.Engine) {
	ctx := t.Context()
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
	for _, e := range kvtest.Kinds {
		t.Run(e.Name, func(t *testing.T) {
			var records []kv.Line
			testObserver(t, e.Open(t, kv.Options{Observe: func(r kv.Line) { records = append(records, r) }}), &records)
		})
	}
}

func testObserver(t *testing.T, m kv.Engine, seenRecords *[]kv.Line) {
	ctx := t.Context()
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
	shared := func(token fence.Token, id string) kv.Request {
		req := req(token, id)
		req.Mode = fence.Shared
		return req
	}
	_ = m.Write(ctx, shared(37, "7"), write("shared"))
	_, _ = m.Read(ctx, shared(36, "8"), "a")
	_ = m.Write(ctx, req(36, "9"), write("stale"))
	_, _ = m.Read(ctx, shared(34, "10"), "a")
	type seen struct {
		id, op, value string
		mark          fence.Token
		missing, no   bool
		mode          fence.Mode
	}
	var got []seen
	for i, r := range *seenRecords {
		if r.Index != int64(i+1) {
			t.Errorf("record %d has index %d", i, r.Index)
		}
		got = append(got, seen{r.ID, r.Op, r.Value, r.Mark, r.Missing, r.Refused != "", r.Mode})
	}
	want := []seen{
		{"1", "write", "new", 34, false, false, fence.Exclusive},
		{"2", "write", "stale", 34, false, true, fence.Exclusive},
		{"3", "read", "new", 0, false, false, fence.Exclusive},
		{"4", "read", "", 34, false, true, fence.Exclusive},
		{"5", "read", "", 35, true, false, fence.Exclusive},
		{"6", "delete", "", 35, false, false, fence.Exclusive},
		{"7", "write", "shared", 0, false, false, fence.Shared},
		{"8", "read", "shared", 0, false, false, fence.Shared},
		{"9", "write", "stale", 37, false, true, fence.Exclusive},
		{"10", "read", "", 35, false, true, fence.Shared},
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

// TestKnownTenureNeedsNoIssuer: a token up to the mark of either mode was issued,
// also where the issuer does not answer now.
func TestKnownTenureNeedsNoIssuer(t *testing.T) {
	for _, e := range kvtest.Kinds {
		t.Run(e.Name, func(t *testing.T) {
			var away error
			m := e.Open(t, kv.Options{Bound: func(fence.Claim) (fence.Token, error) { return 40, away }})
			read := func(token fence.Token, mode fence.Mode) error {
				c := fence.Claim{Scope: mode.String(), Token: token, Mode: mode}
				if _, err := m.Read(t.Context(), kv.Request{Claim: c}, "a"); !errors.Is(err, kv.ErrNotFound) {
					return err
				}
				return nil
			}
			for _, mode := range []fence.Mode{fence.Exclusive, fence.Shared} {
				away = nil
				if err := read(38, mode); err != nil {
					t.Fatal(err)
				}
				away = errors.New("the issuer does not answer")
				if err := read(38, mode); err != nil {
					t.Errorf("%v, a token that is known: %v", mode, err)
				}
				if err := read(39, mode); !errors.Is(err, fence.ErrNoBound) || !errors.Is(err, away) {
					t.Errorf("%v, another token: %v, want ErrNoBound", mode, err)
				}
			}
		})
	}
}

// TestObserverSeesWhatIsAhead: a token that was never issued is refused before it
// comes to the data, and told of all the same.
func TestObserverSeesWhatIsAhead(t *testing.T) {
	for _, e := range kvtest.Kinds {
		t.Run(e.Name, func(t *testing.T) {
			var records []kv.Line
			o := kvtest.Bounded(34)
			o.Observe = func(r kv.Line) { records = append(records, r) }
			m := e.Open(t, o)
			req := kv.Request{Claim: fence.Claim{Scope: "/lock", Token: 35}, ID: "1"}
			write, remove := kv.Op{Kind: kv.OpWrite, Key: "a", Value: "v"}, kv.Op{Kind: kv.OpDelete, Key: "b"}
			if err := m.Write(t.Context(), req, write, remove); !errors.Is(err, fence.ErrAhead) {
				t.Errorf("write: %v, want ahead", err)
			}
			if _, err := m.Read(t.Context(), req, "a"); !errors.Is(err, fence.ErrAhead) {
				t.Errorf("read: %v, want ahead", err)
			}
			req.Token = 34
			if err := m.Write(t.Context(), req, write); err != nil {
				t.Error(err)
			}
			want := []string{"1 write a ahead", "2 delete b ahead", "3 read a ahead", "4 write a "}
			var got []string
			for _, r := range records {
				got = append(got, fmt.Sprintf("%d %s %s %s", r.Index, r.Op, r.Key, r.Refused))
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %q\nwant %q", got, want)
			}
		})
	}
}
