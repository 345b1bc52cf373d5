package sleep_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencelab/fencelab/internal/platform/sleep"
)

func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		if whole := sleep.For(ctx, time.Second); !whole || time.Since(began) != time.Second {
			t.Errorf("it waited for %v, %t, want a second", time.Since(began), whole)
		}
		if whole := sleep.For(ctx, time.Hour); whole || time.Since(began) != time.Minute {
			t.Errorf("it waited for %v, %t, want until the context was done", time.Since(began), whole)
		}
	})
}
