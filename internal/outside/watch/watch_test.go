package watch

import (
	"errors"
	"testing"

	"github.com/fencelab/fencelab/internal/service"
)

// TestNoClient: nobody can take the lock after the program where gcsim is no client of the service.
func TestNoClient(t *testing.T) {
	why := errors.New("its clients are in Java")
	_, err := Watch(t.Context(), Options{Service: &service.Service{NoClient: why}, Command: []string{"true"}})
	if !errors.Is(err, why) {
		t.Errorf("error is %v, want %v", err, why)
	}
}
