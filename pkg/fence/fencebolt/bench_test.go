package fencebolt_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencebolt"
)

// BenchmarkDo raises the marks of a thousand scopes, 64 in a transaction, which is not synced.
func BenchmarkDo(b *testing.B) {
	db, err := bbolt.Open(filepath.Join(b.TempDir(), "db"), 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	token := 0
	for b.Loop() {
		err := db.Update(func(tx *bbolt.Tx) error {
			for range 64 {
				token++
				c := fence.Claim{Scope: fmt.Sprint(token % 1000), Token: fence.Token(token)}
				if err := fencebolt.Do(tx, c, func() error { return nil }); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
