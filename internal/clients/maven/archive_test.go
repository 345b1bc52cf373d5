package maven_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fencelab/fencelab/internal/clients/maven"
)

// keeps is a Java that writes its arguments, and what it knows, to where it is to keep classes. It
// fails as a program does that reaches nobody.
const keeps = `#!/usr/bin/env sh
for arg; do case $arg in -XX:ArchiveClassesAtExit=*) echo "$* $KNOWN" > "${arg#*=}";; esac; done
exit 1
`

// TestArchive: each program is run once, and what is kept of it is where later runs look for it.
func TestArchive(t *testing.T) {
	libraries(t, compiles) // its PATH and its cache
	java := filepath.Join(strings.Split(os.Getenv("PATH"), ":")[0], "java")
	p := maven.Project{Name: "programs", Group: "own", Files: fstest.MapFS{"pom.xml": {Data: []byte("<project/>")}, "a/A.java": {Data: []byte("class A {}")}}}
	if err := p.Get(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	one := maven.Program{Module: "a", Main: "One", Uses: []string{"agent"}}
	trial := maven.Trial{Program: one, Arguments: []string{"--to", "nobody"}, Env: []string{"KNOWN=word"}}
	archive, start, _ := strings.Cut(strings.Join(p.Start(one), " "), " ")
	file := strings.TrimPrefix(archive, "-XX:SharedArchiveFile=")
	if want := "-cp " + maven.ClassPath(p.Found(), "a", "agent") + " One"; start != want || file == archive {
		t.Fatalf("it starts by %s %s, want an archive and %s", archive, start, want)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Archive(ctx, io.Discard, trial); !errors.Is(err, context.Canceled) {
		t.Errorf("when nobody wants it any more: %v", err)
	}

	// A JVM that keeps nothing is no error: the program starts without it.
	for _, program := range []string{"#!/usr/bin/env sh\nexit 1\n", keeps} {
		if err := os.WriteFile(java, []byte(program), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := p.Archive(t.Context(), io.Discard, trial); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if (err == nil) != (program == keeps) || err == nil && !strings.HasSuffix(string(text), start+" --to nobody word\n") {
			t.Errorf("it has kept %q, %v", text, err)
		}
	}
	if all := names(t, filepath.Dir(p.Found())); !slices.Equal(all, []string{"lock", filepath.Base(p.Found())}) {
		t.Errorf("in the cache is %q", all)
	}
	if err := p.Whole(); err != nil {
		t.Errorf("with what was kept: %v", err)
	}

	before := names(t, filepath.Join(p.Found(), "a"))
	if err := os.Remove(java); err != nil {
		t.Fatal(err)
	}
	var says strings.Builder
	if err := p.Archive(t.Context(), &says, trial); err != nil || says.Len() > 0 || !slices.Equal(names(t, filepath.Join(p.Found(), "a")), before) {
		t.Errorf("what is there is made again: %v, %q", err, &says)
	}
}
