package interop_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/need"
)

// compile returns the class path of the program Peer with a library. The library has a folder in
// testdata, whose pom.xml names the jars that Maven fetches. It ends the test where Java or Maven
// is missing.
func compile(t *testing.T, library string) (classPath string) {
	t.Helper()
	need.Programs(t, "to run the originals of locks in Java", "java", "mvn")
	folder := filepath.Join("testdata", library)
	libraries, classes := t.TempDir(), t.TempDir()
	cmd := exec.Command("mvn", "-q", "-B", "-f", folder, "dependency:copy-dependencies", "-DincludeScope=runtime")
	if out, err := exec.Command(cmd.Path, append(cmd.Args[1:], "-DoutputDirectory="+libraries)...).CombinedOutput(); err != nil {
		t.Logf("mvn: %v\n%s", err, out)
		need.Missing(t, "what the pom.xml of "+library+" names", "to see that its locks are ours", strings.Join(cmd.Args, " "))
	}
	need.Files(t, "testdata")
	classPath = strings.Join(append([]string{classes}, files(t, libraries, "*.jar")...), ":")
	compiler := []string{"-m", "jdk.compiler/com.sun.tools.javac.Main", "-d", classes, "-cp", classPath}
	sources := append(files(t, "testdata/peer", "*.java"), files(t, folder, "*.java")...)
	if out, err := exec.Command("java", append(compiler, sources...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return classPath
}

// files are those of a folder that match a pattern.
func files(t *testing.T, folder, pattern string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(folder, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return list
}
