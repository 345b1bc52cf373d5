// Package sleep is a pause that a context can end.
package sleep

import (
	"context"
	"time"
)

// For waits for a time, and reports whether it did: false where ctx was done before.
func For(ctx context.Context, long time.Duration) bool {
	select {
	case <-time.After(long):
		return true
	case <-ctx.Done():
		return false
	}
}
