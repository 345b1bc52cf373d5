// Command pay pays an order: the lock is in Redis, the order and the mark are in PostgreSQL.
//
//	go build ./examples/pay
//	export REDIS=127.0.0.1:6379 DATABASE_URL=postgres://postgres@127.0.0.1/postgres
//	./pay -late & first=$!
//	sleep 2; kill -STOP $first  # it has the lock, and has not written yet
//	./pay                       # waits until the lease has expired, and pays
//	kill -CONT $first; wait     # fence: stale token
package main

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"os"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/pkg/fence/fencesql"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
)

var late = flag.Bool("late", false, "write 5 s after the grant, whatever has become of the lock")

func main() {
	flag.Parse()
	paid, err := run(context.Background())
	fmt.Println("paid:", paid)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (paid bool, err error) {
	client := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS")})
	defer client.Close()
	backend, err := redislock.New(client, 10*time.Second)
	if err != nil {
		return false, err
	}
	db, err := sql.Open("pgx", os.Getenv("DATABASE_URL"))
	if err != nil {
		return false, err
	}
	defer db.Close()
	marks := &fencesql.Store{DB: db, Dialect: fencesql.PostgreSQL}
	if err := marks.Create(ctx); err != nil { // their table, fence_marks
		return false, err
	}
	if _, err := db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS orders (id int PRIMARY KEY, status text)"); err != nil {
		return false, err
	}
	if _, err := db.ExecContext(ctx, "INSERT INTO orders VALUES (7, 'new') ON CONFLICT DO NOTHING"); err != nil {
		return false, err
	}
	return pay(ctx, backend, db)
}

// pay reports whether the order was paid. With lock.ErrLost it can be paid all the same.
func pay(ctx context.Context, backend lock.Backend, db *sql.DB) (paid bool, err error) {
	err = lock.Do(ctx, backend, "/orders", func(ctx context.Context, g lock.Grant) error {
		if *late {
			ctx = context.WithoutCancel(ctx)
			time.Sleep(5 * time.Second)
		}
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		err = fencesql.Do(ctx, tx, fencesql.PostgreSQL, g.Claim(), func() error { // reads come in here, too
			_, err := tx.ExecContext(ctx, "UPDATE orders SET status = 'paid' WHERE id = 7")
			return err
		})
		if err != nil {
			return err // fence.ErrStale if a later holder was there
		}
		err = tx.Commit()
		paid = err == nil
		return err
	})
	return paid, err
}
