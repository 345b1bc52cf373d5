package columns_test

import (
	"bytes"
	"testing"

	"github.com/fencelab/fencelab/internal/platform/columns"
)

func TestFit(t *testing.T) {
	for _, tt := range []struct {
		text  string
		width int
		want  string
	}{
		{"words of no terminal stay in one line", 0, "words of no terminal stay in one line"},
		{"a paragraph\n\nand one more", 11, "a paragraph\n\nand one\nmore"},
		{"see https://example.org/a-b-c", 12, "see\nhttps://example.org/a-b-c"},
		{"  go run . a-b-c", 12, "  go run . a-b-c"},
		{"  run  runs all scenarios, one after another", 40, "  run  runs all scenarios, one after\n       another"},
		{"  --endpoints strings  addresses of a lock service", 40, "  --endpoints strings\n    addresses of a lock service"},
		{"  é  short", 10, "  é  short"},
	} {
		if got := columns.Fit(tt.text, tt.width); got != tt.want {
			t.Errorf("%q in %d columns:\n%s\nwant\n%s", tt.text, tt.width, got, tt.want)
		}
	}
}

func TestOf(t *testing.T) {
	for variable, want := range map[string]int{"": 0, "70": 70, "-3": 0, "wide": 0} {
		if got := columns.Of(new(bytes.Buffer), variable); got != want {
			t.Errorf("COLUMNS=%s: %d, want %d", variable, got, want)
		}
	}
}
