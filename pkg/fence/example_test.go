package fence_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/fencelab/fencelab/pkg/fence"
)

// A store in memory: marks and data live equally long.
func ExampleRegister() {
	var marks fence.Register
	state := "open"
	pay := func(token fence.Token) error {
		return marks.Do(context.Background(), fence.Claim{Scope: "/orders", Token: token}, func(context.Context) error {
			state = "paid by " + token.String()
			return nil
		})
	}
	fmt.Println(pay(34))
	var stale *fence.StaleError
	if err := pay(33); errors.As(err, &stale) {
		fmt.Println("refused:", stale.Token, "is below", stale.Mark)
	}
	fmt.Println(state)
	// Output:
	// <nil>
	// refused: 33 is below 34
	// paid by 34
}

// The rule alone, for a store that keeps its marks in a transaction of its own.
func ExampleMark_Admit() {
	mark := fence.Mark{Token: 34} // as it was read in the transaction
	claim := fence.Claim{Scope: "/orders", Token: 35, Sequence: 1}
	next, err := mark.Admit(claim)
	if err != nil {
		fmt.Println("refused:", err)
		return
	}
	fmt.Printf("keep before the operation: %+v\n", next)
	fmt.Printf("keep after it: %+v\n", next.Done(claim))
	// Output:
	// keep before the operation: {Token:35 Sequence:0 Shared:0}
	// keep after it: {Token:35 Sequence:1 Shared:0}
}

// A service that is in use learns which clients would be refused, before it refuses any.
func ExampleObserve() {
	type client struct{} // the key of the client's name, which the authentication has found out
	var mu sync.Mutex
	seen := make(map[string]map[string]int) // by client and by what was seen, for the metrics
	report := func(ctx context.Context, _ fence.Claim, refused error) {
		what := "admitted"
		switch {
		case errors.Is(refused, fence.ErrStale):
			what = "stale"
		case errors.Is(refused, fence.ErrNoToken):
			what = "missing"
		case refused != nil:
			what = "other"
		}
		name, _ := ctx.Value(client{}).(string)
		mu.Lock()
		defer mu.Unlock()
		if seen[name] == nil {
			seen[name] = make(map[string]int)
		}
		seen[name][what]++
	}
	guard := fence.Observe(new(fence.Register), report) // later: new(fence.Register)

	ask := func(name string, token fence.Token) error {
		ctx := context.WithValue(context.Background(), client{}, name)
		return guard.Do(ctx, fence.Claim{Scope: "/orders", Token: token}, func(context.Context) error { return nil })
	}
	fmt.Println(ask("billing", 34), ask("billing", 33), ask("reports", 0))
	fmt.Println(seen)
	// Output:
	// <nil> <nil> <nil>
	// map[billing:map[admitted:1 stale:1] reports:map[missing:1]]
}

// Readers share a lock, a writer has it alone: readers refuse each other nothing,
// and whoever is older than the other side is refused.
func ExampleMode() {
	var marks fence.Register
	do := func(who string, token fence.Token, mode fence.Mode) {
		c := fence.Claim{Scope: "/orders", Token: token, Mode: mode}
		err := marks.Do(context.Background(), c, func(context.Context) error { return nil })
		fmt.Println(who, token, err)
	}
	do("writer", 33, fence.Exclusive)
	do("reader", 35, fence.Shared)
	do("reader", 34, fence.Shared)
	do("writer", 33, fence.Exclusive)
	do("writer", 36, fence.Exclusive)
	do("reader", 35, fence.Shared)
	// Output:
	// writer 33 <nil>
	// reader 35 <nil>
	// reader 34 <nil>
	// writer 33 fence: stale token: 33 in scope "/orders" is older than the highest admitted, 35, of a shared claim
	// writer 36 <nil>
	// reader 35 fence: stale token: 35 in scope "/orders" is older than the highest admitted, 36
}
