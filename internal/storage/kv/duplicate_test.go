package kv_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kv/kvtest"
	"github.com/fencelab/fencelab/pkg/fence"
)

// TestObserverSeesDuplicates: the account has a duplicate for each of its keys, and
// at its place: right behind what has the same sequence number, with nothing of a
// later one in between. Writers race each other with the same numbers.
func TestObserverSeesDuplicates(t *testing.T) {
	flawed := kvtest.Kind{Name: "flawed", Open: func(_ testing.TB, o kv.Options) kv.Engine { return kv.NewFlawed(kv.FlawForgetful, o) }}
	for _, k := range append([]kvtest.Kind{flawed}, kvtest.Kinds...) {
		t.Run(k.Name, func(t *testing.T) {
			var records []kv.Line
			e := k.Open(t, kv.Options{Observe: func(r kv.Line) { records = append(records, r) }})
			const writers, numbers = 8, 100
			var race sync.WaitGroup
			for range writers {
				race.Go(func() {
					for n := range int64(numbers) {
						req := kv.Request{Claim: fence.Claim{Scope: "/lock", Token: 7, Sequence: n + 1}}
						err := e.Write(t.Context(), req, kv.Op{Kind: kv.OpWrite, Key: "a", Value: "x"}, kv.Op{Kind: kv.OpWrite, Key: "b", Value: "x"})
						if err != nil && !errors.Is(err, fence.ErrDuplicate) && !errors.Is(err, fence.ErrStale) {
							t.Error(err)
						}
					}
				})
			}
			race.Wait()
			if len(records) != writers*numbers*2 {
				t.Fatalf("%d records, want %d", len(records), writers*numbers*2)
			}
			var done, duplicates int64
			for i, r := range records {
				if key := string("ab"[i%2]); r.Key != key || r.Index != int64(i+1) {
					t.Fatalf("record %d is %+v, want one of key %s", i, r, key)
				}
				switch {
				case r.Duplicate:
					duplicates++
					if r.Error != "" || r.Sequence != done || r.Mark != 7 {
						t.Errorf("record %d, %+v, is a duplicate, and %d is the last that was done", i, r, done)
					}
				case r.Error == "":
					done = r.Sequence
				}
			}
			if duplicates == 0 {
				t.Error("there is no duplicate")
			}
		})
	}
}
