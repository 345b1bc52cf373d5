package sqllock_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/sqllock"
)

// The program imports its driver: _ "github.com/jackc/pgx/v5/stdlib" for PostgreSQL.
func Example() {
	ctx := context.Background()
	db, err := sql.Open("pgx", "postgres://127.0.0.1:5432/app")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if err := sqllock.Create(ctx, db, sqllock.PostgreSQL); err != nil {
		log.Fatal(err)
	}
	backend, err := sqllock.New(db, sqllock.PostgreSQL, 10*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	err = lock.Do(ctx, backend, "/orders", func(ctx context.Context, g lock.Grant) error {
		return pay(ctx, g.Claim()) // the storage refuses a claim that is stale
	})
	if err != nil {
		log.Fatal(err)
	}
}

func pay(_ context.Context, c fence.Claim) error {
	fmt.Println("pay under token", c.Token)
	return nil
}

// A lock beside services in Java, which take it by registry.obtain("orders") of a
// JdbcLockRegistry.
func ExampleSpring() {
	db, err := sql.Open("mysql", "app@tcp(127.0.0.1:3306)/app")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	backend, err := sqllock.Spring(db, sqllock.MySQL, sqllock.SpringRegion, sqllock.SpringTTL)
	if err != nil {
		log.Fatal(err)
	}
	tenure, err := backend.Lock(context.Background(), "orders")
	if err != nil {
		log.Fatal(err)
	}
	work(tenure.(lock.Expirer).Until()) // nothing renews the lease
	if err := tenure.Unlock(context.Background()); err != nil {
		log.Fatal(err) // lock.ErrLost: the work took longer than the lease
	}
}

func work(until time.Time) { fmt.Println("done before", until) }
