package fence_test

import (
	"context"
	"fmt"

	"github.com/fencelab/fencelab/pkg/fence"
)

// A service that counts what its fence admits and refuses.
func ExampleWatch() {
	admitted, refused := 0, 0
	guard := fence.Watch(new(fence.Register), func(_ context.Context, _ fence.Claim, err error) {
		if err != nil {
			refused++
			return
		}
		admitted++
	})
	for _, token := range []fence.Token{33, 34, 33} {
		err := guard.Do(context.Background(), fence.Claim{Scope: "/orders", Token: token}, func(context.Context) error { return nil })
		fmt.Println(token, err)
	}
	fmt.Println(admitted, "admitted,", refused, "refused")
	// Output:
	// 33 <nil>
	// 34 <nil>
	// 33 fence: stale token: 33 in scope "/orders" is older than the highest admitted, 34
	// 2 admitted, 1 refused
}
