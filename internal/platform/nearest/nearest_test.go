package nearest_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/platform/nearest"
)

func TestWord(t *testing.T) {
	known := []string{"run", "replay", "draw"}
	for got, want := range map[string]string{
		"runn": "run", "rnu": "run", "RUN": "run", "drew": "draw", "repaly": "replay",
		"x": "", "": "", "serve": "",
	} {
		if word := nearest.Word(got, known); word != want {
			t.Errorf("%q: got %q, want %q", got, word, want)
		}
	}
}
