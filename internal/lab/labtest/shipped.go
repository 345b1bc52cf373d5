package labtest

import (
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/scenarios"
)

// Shipped are the scenarios that gcsim brings with it.
func Shipped(t testing.TB, language *scenario.Language) (list []*scenario.Scenario) {
	t.Helper()
	files, err := fs.Glob(scenarios.FS, "*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := fs.ReadFile(scenarios.FS, file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := language.Parse(file, strings.TrimSuffix(path.Base(file), ".yaml"), data)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	return list
}
