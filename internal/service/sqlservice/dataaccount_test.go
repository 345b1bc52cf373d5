package sqlservice

import (
	"testing"
	"time"
)

// TestTimeOfCommit: neither does an account go back, nor is it of the future. What a long
// transaction has done is told of at the time of its commit, as far as the account knows it.
func TestTimeOfCommit(t *testing.T) {
	var a Account
	before := time.Now()
	a.Asking()
	late := a.time(time.Now().Add(time.Hour))
	if late.After(time.Now()) {
		t.Error("it tells of the future")
	}
	if at := a.time(before); at.Before(late) {
		t.Errorf("it tells of %v after %v", at, late)
	}
	a.Asking() // the database had nothing more
	asked := time.Now()
	a.Asking()
	if at := a.time(before); at.Before(late) || at.After(asked) || at.Equal(late) {
		t.Errorf("a commit that was not there at %v and is there at %v is told of at %v", late, asked, at)
	}
}
