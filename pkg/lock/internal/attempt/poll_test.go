package attempt_test

import (
	"testing"
	"time"

	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// TestPoll: the first pauses are short, and no later one is; none is nothing.
func TestPoll(t *testing.T) {
	for range 100 {
		p := attempt.Poll{Every: 160 * time.Millisecond}
		for i, mean := range []time.Duration{10, 20, 40, 80, 160, 160, 160} {
			mean *= time.Millisecond
			if pause := p.Pause(); pause < mean/2 || pause >= mean*3/2 {
				t.Fatalf("pause %d is %v, want about %v", i+1, pause, mean)
			}
		}
		p = attempt.Poll{Every: time.Millisecond}
		if pause := p.Pause(); pause < time.Millisecond/2 {
			t.Fatalf("a pause of %v", pause)
		}
	}
}
