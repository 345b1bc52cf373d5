package fenceetcd_test

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/namespace"
	"pgregory.net/rapid"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fenceetcd"
)

// model is what Do must come to: Mark.Admit and Mark.Done on the marks that are
// kept, none of them under the floor.
type model struct {
	marks map[string]fence.Mark
	floor fence.Token
	data  string
}

func (m *model) mark(scope string) fence.Mark {
	kept := m.marks[scope]
	if kept.Token < m.floor {
		kept.Token, kept.Sequence = m.floor, 0
	}
	if kept.Shared <= kept.Token {
		kept.Shared = 0
	}
	return kept
}

func (m *model) do(c fence.Claim, data string) error {
	after, err := m.mark(c.Scope).Admit(c)
	if err != nil {
		return err
	}
	m.data = data
	kept := m.marks[c.Scope]
	if c.Mode == fence.Shared {
		kept.Shared = max(kept.Shared, c.Token)
	} else {
		if c.Token > kept.Token { // also where the floor is as high
			kept.Shared = 0
		}
		kept.Token, kept.Sequence = after.Token, after.Done(c).Sequence
		if c.Sequence > 0 {
			kept.Shared = 0
		}
	}
	m.marks[c.Scope] = kept
	return nil
}

func (m *model) raise(floor fence.Token) (dropped int) {
	m.floor = max(m.floor, floor)
	for scope, kept := range m.marks {
		if kept.Token != 0 && kept.Token < floor {
			kept.Token, kept.Sequence = 0, 0
			dropped++
		}
		if kept.Shared != 0 && kept.Shared < floor {
			kept.Shared = 0
			dropped++
		}
		m.marks[scope] = kept
	}
	return dropped
}

// kept is how many marks there are, of both modes.
func (m *model) kept() (n int) {
	for _, kept := range m.marks {
		n += min(1, int(kept.Token)) + min(1, int(kept.Shared))
	}
	return n
}

// TestDoIsTheRule compares etcd with the model over random claims and floors.
func TestDoIsTheRule(t *testing.T) {
	client := etcd(t)
	ctx := t.Context()
	scopes := rapid.SampledFrom([]string{"a", "b", "a/b", "\x00"})
	tokens := rapid.OneOf(rapid.Int64Range(1, 6), rapid.SampledFrom([]int64{-1, 0, 255, 256, 1 << 53, 1<<53 + 1, math.MaxInt64 - 1, math.MaxInt64}))
	sequences := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(1, 4), rapid.SampledFrom([]int64{-1, 255, 256, math.MaxInt64 - 1, math.MaxInt64}))
	modes := rapid.SampledFrom([]fence.Mode{fence.Exclusive, fence.Shared, 2})
	stores := 0
	rapid.Check(t, func(t *rapid.T) {
		stores++
		kv := namespace.NewKV(client, fmt.Sprintf("%d/", stores))
		m := model{marks: make(map[string]fence.Mark)}
		step := 0
		t.Repeat(map[string]func(*rapid.T){
			"do": func(t *rapid.T) {
				step++
				data := fmt.Sprint("step ", step)
				c := fence.Claim{Scope: scopes.Draw(t, "scope"), Token: fence.Token(tokens.Draw(t, "token")), Sequence: sequences.Draw(t, "sequence"), Mode: modes.Draw(t, "mode")}
				if c.Mode == fence.Shared && rapid.IntRange(0, 5).Draw(t, "no sequence") > 0 {
					c.Sequence = 0
				}
				before := m.mark(c.Scope)
				_, err := fenceetcd.Do(ctx, kv, c, clientv3.OpPut("data", data))
				if want := m.do(c, data); !reflect.DeepEqual(err, want) {
					t.Fatalf("%+v at %+v: %v, want %v", c, before, err, want)
				}
			},
			"raise": func(t *rapid.T) {
				floor := fence.Token(rapid.Int64Range(1, 7).Draw(t, "floor"))
				dropped, err := fenceetcd.Raise(ctx, kv, floor)
				if want := m.raise(floor); err != nil || dropped != want {
					t.Fatalf("Raise(%d) dropped %d marks, %v, want %d", floor, dropped, err, want)
				}
			},
			"": func(t *rapid.T) {
				scope := scopes.Draw(t, "scope to look at")
				if got, err := fenceetcd.Mark(ctx, kv, scope); err != nil || got != m.mark(scope) {
					t.Fatalf("mark of %q: %+v, %v, want %+v", scope, got, err, m.mark(scope))
				}
				if got, err := fenceetcd.Floor(ctx, kv); err != nil || got != m.floor {
					t.Fatalf("floor %d, %v, want %d", got, err, m.floor)
				}
				got, err := kv.Get(ctx, "data")
				if err != nil {
					t.Fatal(err)
				}
				data := ""
				if len(got.Kvs) > 0 {
					data = string(got.Kvs[0].Value)
				}
				if data != m.data {
					t.Fatalf("the data is of %q, want %q", data, m.data)
				}
				kept := int64(0)
				for _, prefix := range []string{"fence.marks/", "fence.shared/"} {
					got, err := kv.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
					if err != nil {
						t.Fatal(err)
					}
					kept += got.Count
				}
				if kept != int64(m.kept()) {
					t.Fatalf("%d marks are kept, want %d", kept, m.kept())
				}
			},
		})
	})
}
