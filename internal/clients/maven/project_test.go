package maven_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fencelab/fencelab/internal/clients/maven"
)

// compiles is a Maven that keeps its arguments beside the pom.xml, and the Java that it finds.
const compiles = `
for arg; do case $arg in */pom.xml) dir=${arg%/*};; esac; done
mkdir -p "$dir/a/target/classes" && cat "$dir/a/A.java" > "$dir/a/target/classes/A.class" && echo "$*" > "$dir/arguments"
`

// TestProject: sources are compiled once; other sources are another project.
func TestProject(t *testing.T) {
	libraries(t, compiles) // its PATH and its cache
	p := maven.Project{Name: "programs", Group: "own", Files: fstest.MapFS{
		"pom.xml": {Data: []byte("<project/>")}, "a/A.java": {Data: []byte("class A {}")},
	}}
	if dir := p.Found(); dir != "" {
		t.Fatalf("before it was compiled it is in %s", dir)
	}
	if err := p.Get(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	dir := p.Found()
	if text, err := os.ReadFile(filepath.Join(dir, "a/target/classes/A.class")); err != nil || string(text) != "class A {}" {
		t.Errorf("its class is %q, %v", text, err)
	}
	if args, err := os.ReadFile(filepath.Join(dir, "arguments")); err != nil || !strings.HasSuffix(string(args), " compile jar:jar dependency:copy-dependencies -DincludeScope=runtime -DexcludeGroupIds=own\n") {
		t.Errorf("Maven is told %q, %v", args, err)
	}
	if want := filepath.Join(dir, "b/target/b.jar") + ":" + filepath.Join(dir, "a/target/a.jar") + ":" + filepath.Join(dir, "b/target/dependency/*"); maven.ClassPath(dir, "b", "a") != want {
		t.Errorf("the class path is %s, want %s", maven.ClassPath(dir, "b", "a"), want)
	}
	t.Setenv("PATH", "") // there is no Maven any more
	if err := p.Get(t.Context(), io.Discard); err != nil {
		t.Errorf("what is there is compiled again: %v", err)
	}
	for name, changed := range map[string]fstest.MapFS{
		"another text": {"pom.xml": {Data: []byte("<project/>")}, "a/A.java": {Data: []byte("class B {}")}},
		"another name": {"pom.xml": {Data: []byte("<project/>")}, "a/B.java": {Data: []byte("class A {}")}},
		"one file":     {"pom.xml": {Data: []byte("<project/>")}},
	} {
		if p.Files = changed; p.Found() != "" {
			t.Errorf("%s: it is in %s still", name, p.Found())
		}
	}
}
