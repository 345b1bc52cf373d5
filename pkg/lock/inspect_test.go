package lock_test

import (
	"context"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/pkg/lock"
)

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
