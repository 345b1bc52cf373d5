package golden

import (
	"path/filepath"
	"testing"
)

// fails counts the failures of a test.
type fails struct {
	testing.TB
	count int
}

func (f *fails) Errorf(string, ...any) { f.count++ }

func TestCheck(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	defer func(before bool) { *update = before }(*update)
	for _, step := range []struct {
		update bool
		got    string
		fails  int
	}{
		{true, "one\ntwo\n", 0}, {false, "one\ntwo\n", 0}, {false, "one\n", 1}, {false, "one\ntwo", 1},
		{true, "one\n", 0}, {false, "one\n", 0},
	} {
		*update = step.update
		f := &fails{TB: t}
		if Check(f, file, step.got); f.count != step.fails {
			t.Errorf("%+v: %d failures", step, f.count)
		}
	}
}
