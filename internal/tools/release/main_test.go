package main

import (
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"

	"github.com/fencelab/fencelab/internal/tools/need"
)

const root = "../../.."

// versionsIn are those of the repository's modules that go.work and the go.mod files
// name, by file and module.
func versionsIn(t *testing.T, root string) map[string]string {
	t.Helper()
	modules, err := readModules(root)
	if err != nil {
		t.Fatal(err)
	}
	versions := make(map[string]string)
	own := func(file, path, version string) {
		if slices.ContainsFunc(modules, func(m module) bool { return m.path == path }) {
			versions[file+" "+path] = version
		}
	}
	work, err := modfile.ParseWork("go.work", read(t, root, "go.work"), nil)
	if err != nil {
		t.Fatal(err)
	}
	action := actionVersion.FindSubmatch(read(t, root, actionFile))
	if action == nil {
		t.Fatalf("%s names no version", actionFile)
	}
	versions[actionFile] = string(action[2])
	for _, r := range work.Replace {
		own("go.work", r.Old.Path, r.Old.Version)
	}
	for _, m := range modules {
		file := path.Join(m.folder, "go.mod")
		mod, err := modfile.Parse(file, read(t, root, file), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range mod.Require {
			own(file, r.Mod.Path, r.Mod.Version)
		}
	}
	return versions
}

func read(t *testing.T, elem ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// currentVersion is the one that the files of the repository name.
func currentVersion(t *testing.T) string {
	t.Helper()
	versions := versionsIn(t, root)
	version := versions["go.work github.com/fencelab/fencelab/pkg"]
	if err := checkVersion(version); err != nil {
		t.Fatalf("go.work replaces no version of pkg: %v", err)
	}
	return version
}

func TestVersionsAgree(t *testing.T) {
	want := currentVersion(t)
	for where, version := range versionsIn(t, root) {
		if version != want {
			t.Errorf("%s %s, want %s", where, version, want)
		}
	}
}

// TestEveryModuleIsKnown: go.work uses each module, but for that of the originals, which is for
// a test alone, and has a place for the version of each one that is published.
func TestEveryModuleIsKnown(t *testing.T) {
	modules, err := readModules(root)
	if err != nil {
		t.Fatal(err)
	}
	versions := versionsIn(t, root)
	known := []string{"internal/tools/originals"}
	for _, m := range modules {
		known = append(known, m.folder)
		if _, ok := versions["go.work "+m.path]; ok != m.published() {
			t.Errorf("go.work replaces %s by %s: %t, want %t", m.path, m.folder, ok, m.published())
		}
		if want := path.Join(modules[0].path, m.folder); m.path != want {
			t.Errorf("%s/go.mod says %s, want %s", m.folder, m.path, want)
		}
	}
	err = filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
		folder, _ := filepath.Rel(root, filepath.Dir(name))
		if filepath.Base(name) == "go.mod" && !slices.Contains(known, folder) {
			t.Errorf("go.work does not use %s", folder)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestCheckVersion(t *testing.T) {
	for version, good := range map[string]bool{
		"v0.1.0": true, "v1.20.3": true, "v0.2.0-rc.1": true,
		"": false, "0.1.0": false, "v1": false, "v1.2": false, "v0.1.0+x": false, "v0.01.0": false, "v2.0.0": false, "v0.1.0 x": false,
	} {
		if err := checkVersion(version); (err == nil) != good {
			t.Errorf("%q: %v", version, err)
		}
	}
}

// copyRepository makes a git repository that has the modules, and no packages.
func copyRepository(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	modules, err := readModules(root)
	if err != nil {
		t.Fatal(err)
	}
	files := []string{"go.work", actionFile}
	for _, m := range modules {
		files = append(files, path.Join(m.folder, "go.mod"))
	}
	for _, file := range files {
		name := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, read(t, root, file), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"init", "--quiet"}, {"config", "user.name", "Ada"}, {"config", "user.email", "ada@example.com"},
		{"config", "commit.gpgsign", "false"}, {"config", "tag.gpgsign", "false"},
		{"add", "."}, {"commit", "--quiet", "--message", "all"},
	} {
		mustGit(t, dir, args...)
	}
	return dir
}

func mustGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := git(dir, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRelease: all modules get the version, in one commit, which has the tags.
func TestRelease(t *testing.T) {
	need.Program(t, "git", "to tag")
	dir := copyRepository(t)
	before := versionsIn(t, dir)
	const version = "v0.98.7-rc.1"
	var out strings.Builder
	if err := release(dir, version, &out); err != nil {
		t.Fatal(err)
	}
	after := versionsIn(t, dir)
	if len(after) != len(before) {
		t.Errorf("%v became %v", before, after)
	}
	for where, got := range after {
		if got != version {
			t.Errorf("%s %s, want %s", where, got, version)
		}
	}
	tags := strings.Fields(mustGit(t, dir, "tag", "--points-at", "HEAD"))
	for _, tag := range []string{version, "pkg/" + version, "pkg/lock/etcdlock/" + version} {
		if !slices.Contains(tags, tag) || !strings.Contains(out.String(), " "+tag) {
			t.Errorf("no tag %s, or not told to push it: tags are %q, it says\n%s", tag, tags, &out)
		}
	}
	modules, _ := readModules(dir)
	for _, m := range modules {
		if tag := path.Join(m.folder, version); slices.Contains(tags, tag) != m.published() {
			t.Errorf("tags are %q: %s is published: %t", tags, m.folder, m.published())
		}
	}
	if got := mustGit(t, dir, "log", "--format=%s"); got != "release: "+version+"\nall\n" {
		t.Errorf("the commits are\n%s", got)
	}
	if changed := mustGit(t, dir, "status", "--porcelain"); changed != "" {
		t.Errorf("not committed:\n%s", changed)
	}
}

// TestReleaseOfWhatTheFilesSay: nothing is left to commit.
func TestReleaseOfWhatTheFilesSay(t *testing.T) {
	need.Program(t, "git", "to tag")
	dir := copyRepository(t)
	version := currentVersion(t)
	if err := release(dir, version, io.Discard); err != nil {
		t.Fatal(err)
	}
	if tags := mustGit(t, dir, "tag", "--points-at", "HEAD"); !strings.Contains(tags, "pkg/"+version) {
		t.Errorf("tags are %q", tags)
	}
}

func TestReleaseRefuses(t *testing.T) {
	need.Program(t, "git", "to tag")
	for name, tt := range map[string]struct {
		version string
		before  func(dir string)
		says    string
	}{
		"no version":        {"1.0", func(string) {}, "is no version"},
		"a tag of a module": {"v0.9.0", func(dir string) { mustGit(t, dir, "tag", "pkg/v0.9.0") }, "pkg/v0.9.0"},
		"changes": {"v0.9.0", func(dir string) {
			if err := os.WriteFile(filepath.Join(dir, "new.go"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}, "new.go"},
	} {
		dir := copyRepository(t)
		tt.before(dir)
		tags := mustGit(t, dir, "tag")
		err := release(dir, tt.version, io.Discard)
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %v, want that it says %q", name, err, tt.says)
		}
		if after := mustGit(t, dir, "tag"); after != tags {
			t.Errorf("%s: tags are %q, they were %q", name, after, tags)
		}
		if commits := mustGit(t, dir, "log", "--format=%s"); commits != "all\n" {
			t.Errorf("%s: commits are %q", name, commits)
		}
	}
}
