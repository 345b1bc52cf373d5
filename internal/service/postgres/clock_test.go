package postgres

import (
	"testing"
	"time"
)

// TestTimesOfTheData: what the account tells is in order, and not in the future.
func TestTimesOfTheData(t *testing.T) {
	var a dataAccount
	began := time.Now()
	if at := a.time(began.Add(time.Hour)); at.After(time.Now()) {
		t.Errorf("it tells of what is still to come in %v", time.Until(at))
	}
	first := a.last
	if at := a.time(began.Add(-time.Hour)); at.Before(first) {
		t.Errorf("what came next is %v before it", first.Sub(at))
	}
}
