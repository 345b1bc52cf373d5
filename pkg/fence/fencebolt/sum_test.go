package fencebolt_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencebolt"
)

func raise(t testing.TB, db *bbolt.DB, marks ...string) {
	t.Helper()
	err := db.Update(func(tx *bbolt.Tx) error {
		for i, scope := range marks {
			if err := fencebolt.RaiseMark(tx, scope, fence.Mark{Token: fence.Token(i + 10)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestVerify: whatever is not as it was stored is noticed, and no operation of a Store runs.
func TestVerify(t *testing.T) {
	marks := func(tx *bbolt.Tx) *bbolt.Bucket { return tx.Bucket([]byte(fencebolt.Bucket)) }
	floor := func(tx *bbolt.Tx) *bbolt.Bucket { return tx.Bucket([]byte(fencebolt.FloorBucket)) }
	for name, damage := range map[string]func(tx *bbolt.Tx) error{
		"a mark is missing":               func(tx *bbolt.Tx) error { return marks(tx).Delete([]byte("a")) },
		"a mark is that of another scope": func(tx *bbolt.Tx) error { return marks(tx).Put([]byte("a"), marks(tx).Get([]byte("b"))) },
		"a mark has another scope":        func(tx *bbolt.Tx) error { return marks(tx).Put([]byte("d"), marks(tx).Get([]byte("b"))) },
		"a mark has no checksum":          func(tx *bbolt.Tx) error { return marks(tx).Put([]byte("a"), marks(tx).Get([]byte("a"))[:16]) },
		"the bucket of marks is missing":  func(tx *bbolt.Tx) error { return tx.DeleteBucket([]byte(fencebolt.Bucket)) },
		"the sum is missing":              func(tx *bbolt.Tx) error { return floor(tx).Delete([]byte("sum")) },
		"the sum has another name": func(tx *bbolt.Tx) error {
			return errors.Join(floor(tx).Put([]byte("sun"), floor(tx).Get([]byte("sum"))), floor(tx).Delete([]byte("sum")))
		},
		"the bucket of the floor is missing": func(tx *bbolt.Tx) error { return tx.DeleteBucket([]byte(fencebolt.FloorBucket)) },
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t, filepath.Join(t.TempDir(), "db")).db
			raise(t, db, "a", "b", "c")
			if err := db.View(fencebolt.Verify); err != nil {
				t.Fatal(err)
			}
			if err := db.Update(damage); err != nil {
				t.Fatal(err)
			}
			if err := db.View(fencebolt.Verify); err == nil || !strings.Contains(err.Error(), "damaged") {
				t.Errorf("Verify: %v", err)
			}
			err := (&fencebolt.Store{DB: db}).Do(t.Context(), fence.Claim{Scope: "c", Token: 99}, func(context.Context) error {
				t.Error("an operation ran")
				return nil
			})
			if err == nil || !strings.Contains(err.Error(), "damaged") {
				t.Errorf("Do: %v", err)
			}
		})
	}
}

// TestFlippedBits: a mark of which a bit has changed is an error, whichever bit it is.
func TestFlippedBits(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "db")).db
	raise(t, db, "a", "b")
	for _, record := range []struct{ bucket, key string }{{fencebolt.Bucket, "b"}, {fencebolt.FloorBucket, "sum"}} {
		for bit := 0; ; bit++ {
			past := false
			err := db.Update(func(tx *bbolt.Tx) error {
				b := tx.Bucket([]byte(record.bucket))
				v := []byte(string(b.Get([]byte(record.key))))
				if past = bit >= 8*len(v); past {
					return nil
				}
				v[bit/8] ^= 1 << (bit % 8)
				if err := b.Put([]byte(record.key), v); err != nil {
					return err
				}
				if m, err := fencebolt.Mark(tx, "b"); err == nil {
					t.Errorf("bit %d of %s: the mark is %+v", bit, record.key, m)
				}
				return fmt.Errorf("undone")
			})
			if past {
				break
			}
			if err == nil {
				t.Fatal("it was not undone")
			}
		}
	}
}

// TestEarlierVersions: marks without checksums, and their floor, are read as they are, and are
// given checksums by the first change.
func TestEarlierVersions(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "db")).db
	err := db.Update(func(tx *bbolt.Tx) error {
		marks, err := tx.CreateBucket([]byte(fencebolt.Bucket))
		if err != nil {
			return err
		}
		for i := range 100 {
			token := fmt.Sprintf("%016x%016x", i+3, i)
			var v []byte
			if _, err := fmt.Sscanf(token, "%x", &v); err != nil {
				return err
			}
			if err := marks.Put(fmt.Appendf(nil, "scope%02d", i), v); err != nil {
				return err
			}
		}
		if err := marks.SetSequence(100); err != nil {
			return err
		}
		floor, err := tx.CreateBucket([]byte(fencebolt.FloorBucket))
		if err != nil {
			return err
		}
		return floor.SetSequence(2)
	})
	if err != nil {
		t.Fatal(err)
	}
	check := func(tx *bbolt.Tx, n int) error {
		for i := range 100 {
			if m, err := fencebolt.Mark(tx, fmt.Sprintf("scope%02d", i)); err != nil || m != (fence.Mark{Token: fence.Token(i + 3), Sequence: int64(i)}) {
				t.Errorf("mark %d: %+v, %v", i, m, err)
			}
		}
		if m, err := fencebolt.Mark(tx, "other"); err != nil || m.Token != 2 {
			t.Errorf("the floor is %d, %v, want 2", m.Token, err)
		}
		if lenOf(t, tx) != n {
			t.Errorf("%d marks, want %d", lenOf(t, tx), n)
		}
		return fencebolt.Verify(tx)
	}
	if err := db.View(func(tx *bbolt.Tx) error { return check(tx, 100) }); err != nil {
		t.Fatal(err)
	}
	raise(t, db, "next")
	if err := db.View(func(tx *bbolt.Tx) error { return check(tx, 101) }); err != nil {
		t.Fatal(err)
	}
}
