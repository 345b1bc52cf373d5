package maven

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Project is programs in Java: modules of one project of Maven.
type Project struct {
	Name  string // of its folder
	Files fs.FS  // its sources, with a pom.xml
	Group string // of its own modules, which are no libraries
}

// kept is its folder. Other sources have another one.
func (p Project) kept() kept {
	sum := sha256.New()
	// What cannot be read cannot be compiled either, and Get says why.
	_ = fs.WalkDir(p.Files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(p.Files, name)
		fmt.Fprintf(sum, "%s\n%d\n%s", name, len(data), data)
		return err
	})
	k := kept{name: p.Name}
	sum.Sum(k.sum[:0])
	return k
}

// Found returns the folder of the project, "" where it was not compiled.
func (p Project) Found() string { return p.kept().found() }

// Get compiles the project and fetches its libraries, and tells progress about it. Where that
// was done it returns at once.
func (p Project) Get(ctx context.Context, progress io.Writer) error {
	return p.kept().get(ctx, progress, "compiles", func(run func(args ...string) error, dir string) (string, error) {
		made := filepath.Join(dir, "made")
		if err := os.CopyFS(made, p.Files); err != nil {
			return "", err
		}
		return made, run("-f", filepath.Join(made, "pom.xml"), "compile", "jar:jar", "dependency:copy-dependencies",
			"-DincludeScope=runtime", "-DexcludeGroupIds="+p.Group)
	})
}

// ClassPath is that of a module of the project, in the folder that Found returns, which uses
// other modules. Their jars are called after them.
func ClassPath(dir, module string, uses ...string) string {
	var path []string
	for _, name := range append([]string{module}, uses...) {
		path = append(path, filepath.Join(dir, name, "target", name+".jar"))
	}
	path = append(path, filepath.Join(dir, module, "target", "dependency", "*"))
	return strings.Join(path, string(filepath.ListSeparator))
}
