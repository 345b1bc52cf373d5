package lab

import (
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/history"
)

// TestNothingIsBeforeTheRun: the first line of a history is that of the run, whatever another
// clock says of an event.
func TestNothingIsBeforeTheRun(t *testing.T) {
	r := newRecorder(nil, nil)
	r.begin(history.Run{})
	r.add(history.Event{Kind: history.KindNote, At: -time.Millisecond})
	r.end(history.Event{Kind: history.KindEnd})
	if events := r.events(); events[0].Kind != history.KindRun || len(events) != 3 {
		t.Errorf("it begins with %q", events[0].Kind)
	}
}
