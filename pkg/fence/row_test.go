package fence_test

import (
	"errors"
	"fmt"
	"sync"

	"github.com/fencelab/fencelab/pkg/fence"
)

// table stands in for a table of a database:
//
//	CREATE TABLE orders (id TEXT PRIMARY KEY, state TEXT, token BIGINT, sequence BIGINT, shared BIGINT)
//
// The mark of an order is in its row, and so lives as long as the order, and is
// changed with it or not at all.
type table struct {
	transaction sync.Mutex // SELECT … FOR UPDATE
	rows        map[string]row
}

type row struct {
	state string
	mark  fence.Mark
}

// set changes the state of an order, in one transaction. The scope of its lock is the
// order's name.
func (t *table) set(c fence.Claim, state string) error {
	t.transaction.Lock()
	defer t.transaction.Unlock() // COMMIT, or with an error ROLLBACK
	r := t.rows[c.Scope]
	mark, err := r.mark.Admit(c)
	switch {
	case errors.Is(err, fence.ErrDuplicate):
		return nil // it was done before: say so again
	case err != nil:
		return err
	}
	t.rows[c.Scope] = row{state: state, mark: mark.Done(c)}
	return nil
}

// Protect a database row: the mark is in the row, and Mark.Admit judges the claim in
// the transaction that changes the row.
func Example_databaseRow() {
	orders := table{rows: make(map[string]row)}
	fmt.Println(orders.set(fence.Claim{Scope: "order 7", Token: 34, Sequence: 1}, "paid"))
	fmt.Println(orders.set(fence.Claim{Scope: "order 7", Token: 34, Sequence: 1}, "paid"))
	fmt.Println(orders.set(fence.Claim{Scope: "order 7", Token: 33, Sequence: 9}, "cancelled"))
	fmt.Println(orders.rows["order 7"].state)
	// Output:
	// <nil>
	// <nil>
	// fence: stale token: 33 in scope "order 7" is older than the highest admitted, 34
	// paid
}
