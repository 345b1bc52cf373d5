package fencebolt_test

import (
	"errors"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencebolt"
)

func TestFloor(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "db")).db
	update := func(f func(tx *bbolt.Tx) error) {
		t.Helper()
		if err := db.Update(f); err != nil {
			t.Fatal(err)
		}
	}
	update(func(tx *bbolt.Tx) error {
		for i := range 10 {
			if err := fencebolt.Do(tx, fence.Claim{Scope: string(rune('a' + i)), Token: fence.Token(i + 1), Sequence: int64(i)}, func() error { return nil }); err != nil {
				return err
			}
		}
		return nil
	})
	update(func(tx *bbolt.Tx) error {
		dropped, err := fencebolt.Raise(tx, 4)
		if dropped != 3 || lenOf(t, tx) != 7 {
			t.Errorf("dropped %d, left %d, want 3 and 7", dropped, lenOf(t, tx))
		}
		return err
	})
	update(func(tx *bbolt.Tx) error {
		if floor, err := fencebolt.Floor(tx); floor != 4 || err != nil {
			t.Errorf("floor %d, %v, want 4", floor, err)
		}
		for scope, want := range map[string]fence.Mark{"a": {Token: 4}, "d": {Token: 4, Sequence: 3}, "j": {Token: 10, Sequence: 9}, "new": {Token: 4}} {
			if m, err := fencebolt.Mark(tx, scope); err != nil || m != want {
				t.Errorf("mark of %s: %+v, %v, want %+v", scope, m, err, want)
			}
		}
		for scope, token := range map[string]fence.Token{"a": 3, "new": 3, "j": 9} {
			if err := fencebolt.Do(tx, fence.Claim{Scope: scope, Token: token}, func() error { return nil }); !errors.Is(err, fence.ErrStale) {
				t.Errorf("%s with %d: %v, want ErrStale", scope, token, err)
			}
		}
		if err := fencebolt.Do(tx, fence.Claim{Scope: "new", Token: 4}, func() error { return nil }); err != nil || lenOf(t, tx) != 7 {
			t.Errorf("the floor itself: %v; %d marks, want 7: it says nothing that the floor does not", err, lenOf(t, tx))
		}
		_, err := fencebolt.Raise(tx, 2)
		if floor, err := fencebolt.Floor(tx); floor != 4 || err != nil {
			t.Errorf("the floor went down to %d, %v", floor, err)
		}
		return err
	})
	for _, bad := range []fence.Token{0, -1} {
		if err := db.Update(func(tx *bbolt.Tx) error { _, err := fencebolt.Raise(tx, bad); return err }); !errors.Is(err, fence.ErrInvalidToken) {
			t.Errorf("floor %d: %v", bad, err)
		}
	}
}

// TestFloorKnowsBothModes: a shared mark above the floor stays, beside the floor.
func TestFloorKnowsBothModes(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "db")).db
	err := db.Update(func(tx *bbolt.Tx) error {
		for scope, token := range map[string]fence.Token{"below": 3, "at": 4, "above": 5} {
			if err := fencebolt.Do(tx, fence.Claim{Scope: scope, Token: token, Mode: fence.Shared}, func() error { return nil }); err != nil {
				return err
			}
		}
		dropped, err := fencebolt.Raise(tx, 4)
		if dropped != 2 {
			t.Errorf("dropped %d, want 2", dropped)
		}
		for scope, want := range map[string]fence.Mark{"below": {Token: 4}, "at": {Token: 4}, "above": {Token: 4, Shared: 5}} {
			if m, err := fencebolt.Mark(tx, scope); err != nil || m != want {
				t.Errorf("mark of %s: %+v, %v, want %+v", scope, m, err, want)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestRaiseMark: what comes from a backup does not lower a mark.
func TestRaiseMark(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "db")).db
	err := db.Update(func(tx *bbolt.Tx) error {
		for _, step := range []struct{ give, want fence.Mark }{
			{fence.Mark{Token: 5, Sequence: 2}, fence.Mark{Token: 5, Sequence: 2}},
			{fence.Mark{Token: 4, Sequence: 9}, fence.Mark{Token: 5, Sequence: 2}},
			{fence.Mark{Token: 5, Sequence: 1}, fence.Mark{Token: 5, Sequence: 2}},
			{fence.Mark{Token: 5, Sequence: 3}, fence.Mark{Token: 5, Sequence: 3}},
			{fence.Mark{Shared: 7}, fence.Mark{Token: 5, Sequence: 3, Shared: 7}},
			{fence.Mark{Token: 6}, fence.Mark{Token: 6, Shared: 7}},
			{fence.Mark{Token: 6, Shared: 6}, fence.Mark{Token: 6, Shared: 7}},
			{fence.Mark{Token: 8}, fence.Mark{Token: 8}},
		} {
			if err := fencebolt.RaiseMark(tx, "a", step.give); err != nil {
				return err
			}
			if m, _ := fencebolt.Mark(tx, "a"); m != step.want {
				t.Errorf("after %+v: %+v, want %+v", step.give, m, step.want)
			}
		}
		if n := lenOf(t, tx); n != 1 {
			t.Errorf("%d marks, want 1", n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func lenOf(t *testing.T, tx *bbolt.Tx) int {
	t.Helper()
	n, err := fencebolt.Len(tx)
	if err != nil {
		t.Error(err)
	}
	return n
}
