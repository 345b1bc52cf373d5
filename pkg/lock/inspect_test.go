package lock_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// Whoever finds a lock taken can ask by whom.
func ExampleInspector() {
	service := locktest.NewMemory(time.Second)
	holder, other := service.Open(), service.Open()
	ctx := lock.WithWords(context.Background(), "web7, nightly backup")
	err := lock.Do(ctx, holder, "/orders", func(ctx context.Context, _ lock.Grant) error {
		state, err := other.Backend.(lock.Inspector).Inspect(ctx, "/orders")
		for _, h := range state.Holders {
			fmt.Println(h.Words, "holds it with token", h.Token)
		}
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: web7, nightly backup holds it with token 1
}

func TestWords(t *testing.T) {
	for _, c := range []struct{ given, want string }{
		{"", ""},
		{"web7, nightly backup", "web7, nightly backup"},
		{"Büro\n \U0001F512", "Büro\n \U0001F512"},
		{"a\xff\xfeb\x00c", "a\uFFFDb\uFFFDc"},
		{strings.Repeat("x", lock.MaxWords+1), strings.Repeat("x", lock.MaxWords)},
		{strings.Repeat("x", lock.MaxWords-1) + "ü", strings.Repeat("x", lock.MaxWords-1)},
	} {
		if got := lock.Words(lock.WithWords(t.Context(), c.given)); got != c.want {
			t.Errorf("of %q there is %q, want %q", c.given, got, c.want)
		}
	}
	if got := lock.Words(context.Background()); got != "" {
		t.Errorf("without words there is %q", got)
	}
}
