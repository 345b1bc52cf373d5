package redis

import (
	"slices"
	"testing"
)

// TestEvictable: a lock has a time to live, and its counter has none.
func TestEvictable(t *testing.T) {
	a := newAccount(new(listener), 1, 1)
	a.change(0, func(d database) database {
		d.apply([]string{"SET", "/l", "a", "PXAT", "1"})
		d.apply([]string{"INCR", counterOf("/l")})
		d.apply([]string{"SET", "/other", "a", "PXAT", "1"})
		return d
	})
	for eviction, want := range map[string][]string{
		evictionNone: nil, evictionVolatile: {"/l"}, evictionAllkeys: {"/l", counterOf("/l")},
	} {
		if got := a.evictable(0, eviction); !slices.Equal(got, want) {
			t.Errorf("%s: %q can go, want %q", eviction, got, want)
		}
	}
}
