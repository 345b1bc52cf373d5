package service_test

import (
	"errors"
	"testing"

	"github.com/fencelab/fencelab/internal/service"
)

// TestLife: a life ends once, and keeps why.
func TestLife(t *testing.T) {
	l := service.NewLife()
	select {
	case <-l.Done():
		t.Error("it is done before its end")
	default:
	}
	why := errors.New("why")
	if !l.End(why) || l.End(nil) || l.Err() != why {
		t.Errorf("its first end does not count: %v", l.Err())
	}
	<-l.Done()
}
