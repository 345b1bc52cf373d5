package fences3

import (
	"errors"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/internal/swap"
)

// TestKeys: no two scopes have one key, also on a server whose objects are files.
func TestKeys(t *testing.T) {
	for scope, want := range map[string]string{
		"orders-7_a": "orders-7_a", "/orders/7": "=2Forders=2F7", "a//b": "a=2F=2Fb", "=2F": "=3D2F", "..": "=2E=2E",
		strings.Repeat("x", 1000): strings.Repeat("x", 1000),
	} {
		if got, err := keyOf(scope); got != want || err != nil {
			t.Errorf("%.20q: got %q, %v, want %q", scope, got, err, want)
		}
	}
	for _, scope := range []string{"", strings.Repeat("x", 1001), strings.Repeat("ü", 171)} {
		if got, err := keyOf(scope); !errors.Is(err, fence.ErrInvalidScope) {
			t.Errorf("%.20q: got %q, %v", scope, got, err)
		}
	}
}

// TestContent: what is written is read again, and what is none of this package's is refused, or has no mark.
func TestContent(t *testing.T) {
	for _, o := range []object{
		{},
		{Kept: swap.Kept{Mark: fence.Mark{Token: 34}}},
		{Kept: swap.Kept{Mark: fence.Mark{Token: 9007199254740993, Sequence: 3, Shared: 9007199254740995}}, data: []byte{}},
		{Kept: swap.Kept{Mark: fence.Mark{Token: 34}, By: "A"}},
		{Kept: swap.Kept{Mark: fence.Mark{Token: 34}, By: "A"}, data: []byte("paid by B deleted")},
		{Kept: swap.Kept{Mark: fence.Mark{Token: 1}}, data: []byte(" deleted\nFence-Mark: 2 0 0\n\x00")},
	} {
		got, err := parse(o.content())
		if err != nil || got.Kept != o.Kept || string(got.data) != string(o.data) || (got.data == nil) != (o.data == nil) {
			t.Errorf("%q: got %+v, %v", o.content(), got, err)
		}
	}
	for _, plain := range []string{"", "{}", "Fence-Mark", " Fence-Mark: 1 0 0\n"} {
		if got, err := parse([]byte(plain)); err != nil || got.Mark != (fence.Mark{}) || string(got.data) != plain {
			t.Errorf("%q: got %+v, %v", plain, got, err)
		}
	}
	for _, broken := range []string{
		"Fence-Mark: \n", "Fence-Mark: 1\n", "Fence-Mark: 1 0 0", "Fence-Mark: 01 0 0\n", "Fence-Mark: 1 0 0 \n", "Fence-Mark: 1 0 0 by \n", "Fence-Mark: 1 0 0 deleted by A\n",
		"Fence-Mark: 1 0 0 deleted\ndata", "Fence-Mark: 9223372036854775808 0 0\n",
	} {
		if got, err := parse([]byte(broken)); err == nil {
			t.Errorf("%q: got %+v", broken, got)
		}
	}
}
