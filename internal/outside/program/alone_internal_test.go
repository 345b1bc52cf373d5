package program

import (
	"errors"
	"testing"
)

// TestAlone: that nobody takes connections is a failure as long as the storage is to be there.
func TestAlone(t *testing.T) {
	g, err := NewGate("the storage of the test")
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	failed := 0
	g.Fail = func(error) { failed++ }
	g.Serve("http://127.0.0.1:1")
	before := g.life()
	g.Leave()
	if g.alone(before, errors.New("refused")); failed != 0 {
		t.Error("the storage was left before its connection was refused, and that is a failure")
	}
	if g.alone(g.life(), errors.New("refused")); failed != 1 {
		t.Errorf("of a storage that is to be there %d failures are told, want 1", failed)
	}
}
