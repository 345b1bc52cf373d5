package fail_test

import (
	"errors"
	"testing"

	"github.com/fencelab/fencelab/internal/platform/fail"
)

// TestCaught: the first error ends what is done, and is returned as it is; another panic goes on.
func TestCaught(t *testing.T) {
	broken := errors.New("it is broken")
	done := 0
	err := fail.Caught(func() {
		fail.If(nil)
		done = fail.Must(1, nil)
		done = fail.Must(2, broken)
	})
	if err != broken || done != 1 {
		t.Errorf("got %v after %d, want %v after 1", err, done, broken)
	}
	if err := fail.Caught(func() {}); err != nil {
		t.Errorf("got %v, want nil", err)
	}
	defer func() {
		if got := recover(); got != broken {
			t.Errorf("another panic became %v", got)
		}
	}()
	_ = fail.Caught(func() { panic(broken) })
}
