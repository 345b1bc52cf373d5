package kernel

import (
	"strings"
	"testing"
)

func TestMissing(t *testing.T) {
	if err := missing("linux"); err != nil {
		t.Errorf("on Linux: %v", err)
	}
	for _, system := range []string{"darwin", "windows"} {
		err := missing(system)
		if err == nil {
			t.Errorf("on %s: no error", system)
			continue
		}
		for _, want := range []string{"Linux", system, "docker build", "docker run"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("on %s it does not say %q: %v", system, want, err)
			}
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("on %s it says more than a line: %v", system, err)
		}
	}
}
