package etcdproc

import (
	"slices"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/platform/proc"
)

func TestInOrder(t *testing.T) {
	member := func(name string, id uint64) grantor {
		return grantor{&Member{Node: proc.Node{Name: name}}, id}
	}
	low, high := member("low", 0x1111_0000_0000_8fff), member("high", 0x1000_0000_0000_7000) // 0fff and 7000
	got, err := inOrder([]grantor{high, low})
	if err != nil || !slices.Equal(got, []*Member{low.Member, high.Member}) {
		t.Errorf("got %v, %v, want low and high", got, err)
	}
	if _, err := inOrder([]grantor{high, low, member("other", 0xf000)}); err == nil || !strings.Contains(err.Error(), "high and other both begin with 7000") {
		t.Errorf("two with the same bytes: %v", err)
	}
}
