package fencebolt_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencebolt"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// store is the smallest store on the package.
type store struct {
	db   *bbolt.DB
	path string
}

var bucket = []byte("data")

func open(t *testing.T, path string) *store {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true}) // no machine fails
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return &store{db, path}
}

func (s *store) update(c fence.Claim, op func(*bbolt.Bucket) error) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		return fencebolt.Do(tx, c, func() error {
			b, err := tx.CreateBucketIfNotExists(bucket)
			if err != nil {
				return err
			}
			return op(b)
		})
	})
}

func (s *store) Write(_ context.Context, c fence.Claim, key, value string) error {
	return s.update(c, func(b *bbolt.Bucket) error { return b.Put([]byte(key), []byte(value)) })
}

func (s *store) Delete(_ context.Context, c fence.Claim, key string) error {
	return s.update(c, func(b *bbolt.Bucket) error { return b.Delete([]byte(key)) })
}

func (s *store) Read(_ context.Context, c fence.Claim, key string) (value string, ok bool, err error) {
	read := func(b *bbolt.Bucket) error {
		v := b.Get([]byte(key))
		value, ok = string(v), v != nil
		return nil
	}
	if c.Token != 0 {
		return value, ok, s.update(c, read)
	}
	err = s.db.View(func(tx *bbolt.Tx) error {
		if b := tx.Bucket(bucket); b != nil {
			return read(b)
		}
		return nil
	})
	return value, ok, err
}

// crash is what a crash leaves: the file as it is, without a Close.
func (s *store) crash(t *testing.T) *store {
	t.Helper()
	b, err := os.ReadFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "after-crash")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return open(t, path)
}

func TestLaws(t *testing.T) {
	fencetest.Run(t, fencetest.Subject{
		Open: func(context.Context) (fencetest.Store, error) {
			return open(t, filepath.Join(t.TempDir(), "db")), nil
		},
		Restart: func(_ context.Context, s fencetest.Store) (fencetest.Store, error) {
			return s.(*store).crash(t), nil
		},
		OpenBounded: func(_ context.Context, bound fence.Token) (fencetest.Store, error) {
			return openGuarded(t, func(fence.Claim) (fence.Token, error) { return bound, nil }), nil
		},
		Fail: commitFailure,
		Idle: time.Second, // bbolt has no clock
	})
}

// commitFailure is a caller that commits though the operation failed.
func commitFailure(_ context.Context, s fencetest.Store, c fence.Claim, key, value string) error {
	var failed error
	err := s.(*store).db.Update(func(tx *bbolt.Tx) error {
		failed = fencebolt.Do(tx, c, func() error {
			b, err := tx.CreateBucketIfNotExists(bucket)
			if err != nil {
				return err
			}
			return errors.Join(b.Put([]byte(key), []byte(value)), errors.New("not all of it was done"))
		})
		return nil
	})
	return errors.Join(failed, err)
}

// TestLawsWhereFailuresAreUndone: a caller that rolls back, as db.Update does.
func TestLawsWhereFailuresAreUndone(t *testing.T) {
	fencetest.Run(t, fencetest.Subject{
		Open: func(context.Context) (fencetest.Store, error) {
			return open(t, filepath.Join(t.TempDir(), "db")), nil
		},
		Fail: func(_ context.Context, s fencetest.Store, c fence.Claim, key, value string) error {
			return s.(*store).update(c, func(b *bbolt.Bucket) error {
				return errors.Join(b.Put([]byte(key), []byte(value)), errors.New("not all of it was done"))
			})
		},
		Idle: time.Second,
	})
}

// TestRefusalLeavesTheTransactionUsable: one transaction may serve many claims.
func TestRefusalLeavesTheTransactionUsable(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "db"))
	err := s.db.Update(func(tx *bbolt.Tx) error {
		nothing := func() error { return nil }
		if err := fencebolt.Do(tx, fence.Claim{Scope: "a", Token: 34}, nothing); err != nil {
			return err
		}
		if err := fencebolt.Do(tx, fence.Claim{Scope: "a", Token: 33}, nothing); !errors.Is(err, fence.ErrStale) {
			t.Errorf("got %v, want ErrStale", err)
		}
		return fencebolt.Do(tx, fence.Claim{Scope: "b", Token: 5}, nothing)
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.db.View(func(tx *bbolt.Tx) error {
		for scope, want := range map[string]fence.Token{"a": 34, "b": 5, "c": 0} {
			if m, err := fencebolt.Mark(tx, scope); err != nil || m.Token != want {
				t.Errorf("mark of %s: %+v, %v, want %d", scope, m, err, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFailedOperationIsUndone(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "db"))
	failed := errors.New("no room")
	c := fence.Claim{Scope: "a", Token: 34}
	err := s.update(c, func(b *bbolt.Bucket) error {
		return errors.Join(b.Put([]byte("k"), []byte("half")), failed)
	})
	if !errors.Is(err, failed) {
		t.Fatalf("got %v", err)
	}
	if v, ok, err := s.Read(t.Context(), fence.Claim{}, "k"); ok || err != nil {
		t.Errorf("half a write is there: %q %v", v, err)
	}
}

// TestDamageIsTold: a mark that cannot be read must not pass for a low one.
func TestDamageIsTold(t *testing.T) {
	for _, bad := range []string{
		"", "short", strings.Repeat("\xff", 16), strings.Repeat("\x00", 16), strings.Repeat("\x01", 17),
		strings.Repeat("\x00", 24), strings.Repeat("\x01", 24), strings.Repeat("\x00", 16) + strings.Repeat("\xff", 8),
	} {
		s := open(t, filepath.Join(t.TempDir(), "db"))
		err := s.db.Update(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucket([]byte(fencebolt.Bucket))
			if err != nil {
				return err
			}
			return b.Put([]byte("a"), []byte(bad))
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Write(t.Context(), fence.Claim{Scope: "a", Token: 1<<63 - 1}, "k", "v"); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("mark %q: got %v, want an error that says it is damaged", bad, err)
		}
	}
}

func TestScopeThatNoKeyCanBe(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "db"))
	for _, scope := range []string{"", strings.Repeat("s", bbolt.MaxKeySize+1)} {
		if err := s.Write(t.Context(), fence.Claim{Scope: scope, Token: 1}, "k", "v"); !errors.Is(err, fence.ErrInvalidScope) {
			t.Errorf("a scope of %d bytes: got %v, want ErrInvalidScope", len(scope), err)
		}
	}
}
