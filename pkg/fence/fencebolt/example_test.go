package fencebolt_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencebolt"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

var orders = []byte("orders")

func openOrders(path string) *bbolt.DB {
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		log.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(orders)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	return db
}

// A later holder was here before: its mark came through a restart, and the claim
// of the earlier one is refused.
func ExampleDo() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	pay := func(token fence.Token) error {
		db := openOrders(filepath.Join(dir, "orders.db"))
		defer db.Close()
		return db.Update(func(tx *bbolt.Tx) error {
			return fencebolt.Do(tx, fence.Claim{Scope: "/orders", Token: token}, func() error {
				return tx.Bucket(orders).Put([]byte("7"), []byte("paid"))
			})
		})
	}
	fmt.Println(pay(34))
	fmt.Println(pay(33))
	// Output:
	// <nil>
	// fence: stale token: 33 in scope "/orders" is older than the highest admitted, 34
}

// An HTTP handler whose work, and the mark, are durable together.
func ExampleStore() {
	db := openOrders("orders.db")
	defer db.Close()
	store := &fencebolt.Store{DB: db} // with Bound: etcdlock.Bound(client, time.Second)
	put := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		order, err := io.ReadAll(r.Body)
		if err == nil {
			err = fencebolt.Tx(r.Context()).Bucket(orders).Put([]byte("7"), order)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError) // and the transaction is undone
		}
	})
	fenced := fencehttp.Middleware(store, fencehttp.Options{
		Scope: func(*http.Request) string { return "/orders" },
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", fenced(put)))
}

// A token that was never issued must not lock out all others.
func ExampleStore_bound() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db := openOrders(filepath.Join(dir, "orders.db"))
	defer db.Close()
	issued := func(fence.Claim) (fence.Token, error) { return 40, nil } // ask the issuer
	store := &fencebolt.Store{DB: db, Bound: issued}
	err = store.Do(context.Background(), fence.Claim{Scope: "/orders", Token: 1<<63 - 1}, func(context.Context) error { return nil })
	fmt.Println(errors.Is(err, fence.ErrAhead))
	// Output: true
}
