package eslock_test

import (
	"fmt"
	"testing"

	"github.com/fencelab/fencelab/pkg/lock"
)

// TestWordsComeBack: an earlier version writes the document without the words that it does not
// know, and the holder's next renewal brings them back.
func TestWordsComeBack(t *testing.T) {
	addr := node.Get(t).Addr
	b, _ := backend(t, addr, 3*ttl, created(t, addr)) // a renewal is answered in time
	ctx := bounded(t)
	tenure, err := b.Lock(lock.WithWords(ctx, "web7"), scope)
	if err != nil {
		t.Fatal(err)
	}
	g := tenure.Grant()
	put(t, addr, indexOf(t), scope, fmt.Sprintf(`{"token": %d, "holders": [{"owner": %q, "token": %d, "mode": "exclusive", "ttl_ms": 3000, "renewals": 1}]}`, g.Token, g.Owner, g.Token))
	for {
		state, err := b.Inspect(ctx, scope)
		if err != nil || len(state.Holders) != 1 {
			t.Fatalf("Inspect tells of %+v, %v; want the holder of %+v", state, err, g)
		}
		if state.Holders[0].Words == "web7" {
			break
		}
	}
	if err := tenure.Unlock(ctx); err != nil {
		t.Error(err)
	}
}
