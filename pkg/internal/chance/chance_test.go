package chance

import "testing"

func TestCatches(t *testing.T) {
	for _, tt := range []struct {
		named bool
		first bool // what the first trial says
		more  int  // of the further trials say that the law catches
		want  bool
	}{
		{true, true, 0, true}, {false, false, more, false},
		{true, false, more / 4, true}, {true, false, more/4 - 1, false},
		{false, true, more - 1, false}, {false, true, more, true},
	} {
		n := 0
		got := Catches(tt.named, func() bool {
			n++
			return n == 1 && tt.first || n > 1 && n-1 <= tt.more
		})
		if got != tt.want {
			t.Errorf("%+v: got %v", tt, got)
		}
	}
}
