package laws

import (
	"testing"
	"time"
)

func TestScopesFor(t *testing.T) {
	for took, want := range map[time.Duration]int{0: maxScopes, time.Millisecond: maxScopes, time.Second: 6000, time.Hour: minScopes} {
		if got := scopesFor(200, took); got != want {
			t.Errorf("of a storage that took %v: %d scopes, want %d", took, got, want)
		}
	}
}
