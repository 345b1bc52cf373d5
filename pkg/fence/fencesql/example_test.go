package fencesql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencesql"
)

// The mark is in the table of marks, and guards all that its lock guards.
func ExampleStore_Do() {
	db, err := sql.Open("pgx", "postgres://127.0.0.1/shop") // import _ "github.com/jackc/pgx/v5/stdlib"
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()

	store := &fencesql.Store{DB: db, Dialect: fencesql.PostgreSQL}
	if err := store.Create(ctx); err != nil {
		log.Fatal(err)
	}
	claim := fence.Claim{Scope: "/orders", Token: 34} // of the lock's grant
	err = store.Do(ctx, claim, func(ctx context.Context) error {
		_, err := fencesql.Tx(ctx).ExecContext(ctx, "UPDATE orders SET status = 'paid' WHERE id = 7")
		return err
	})
	switch {
	case err == nil:
		fmt.Println("paid")
	case errors.Is(err, fence.ErrStale):
		fmt.Println("the lock is lost:", err)
	case fencesql.Again(err):
		fmt.Println("not paid, try again:", err)
	case fence.OutcomeOf(err) == fence.Definite:
		fmt.Println("not paid:", err)
	default:
		fmt.Println("paid or not, look before the next try:", err)
	}
}

// The mark is in the row, and guards this row alone.
func ExampleStore_Update() {
	db, err := sql.Open("mysql", "root@tcp(127.0.0.1)/shop") // import _ "github.com/go-sql-driver/mysql"
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	store := &fencesql.Store{DB: db, Dialect: fencesql.MySQL}
	id, claim := 7, fence.Claim{Scope: "/orders/7", Token: 34} // of the lock's grant
	_, err = store.Update(context.Background(), claim,
		fencesql.Statement{
			Text: "SELECT token FROM orders WHERE id = ? FOR UPDATE",
			Args: []any{id},
		},
		fencesql.Statement{
			Text: "UPDATE orders SET status = ?, token = ? WHERE id = ? AND token <= ?",
			Args: []any{"paid", int64(claim.Token), id, int64(claim.Token)},
		})
	if errors.Is(err, fence.ErrStale) {
		fmt.Println("the lock is lost:", err)
	}
}
