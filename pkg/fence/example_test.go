package fence_test

import (
	"context"
	"errors"
	"fmt"

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
	fmt.Println("keep before the operation:", next)
	fmt.Println("keep after it:", next.Done(claim))
	// Output:
	// keep before the operation: {35 0}
	// keep after it: {35 1}
}
