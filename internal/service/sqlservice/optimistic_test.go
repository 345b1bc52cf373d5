package sqlservice

import (
	"errors"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
)

// TestReadTenure: its grant is shared, and a refusal says what has changed.
func TestReadTenure(t *testing.T) {
	open, packing := "open", "packing"
	for _, tt := range []struct{ shows, want string }{
		{history.ShowsGrant, `fence: stale token: 3 in scope "/order" is older than the highest admitted, 5`},
		{NoToken, "fence: stale token: the status was open, and is packing"},
	} {
		w := &asking{&Client{Recipe: &Recipe{Shows: tt.shows}}, Attempt{Lock: "/order"}, "lock"}
		read := &readTenure{tenure: tenure{service.NewLife(), w}}
		read.knows.Store(&Seen{3, &open})
		if mode := read.Grant().Mode; mode != fence.Shared {
			t.Errorf("%s: its grant is %v", tt.shows, mode)
		}
		if err := read.stale(Seen{5, &packing}); !errors.Is(err, fence.ErrStale) || err.Error() != tt.want {
			t.Errorf("%s: %v, want %s", tt.shows, err, tt.want)
		}
	}
}
