package fencelab_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// lockServices are the folders of lock services, below internal/service.
var lockServices = []string{
	"etcd", "memlock",
}

// neutral are the packages that know lock services by internal/service alone.
var neutral = []string{
	"internal/lab", "internal/scenario", "internal/history", "internal/verdict", "internal/judge", "internal/report",
	"internal/agent", "internal/setting", "internal/service", "cmd/gcsim",
}

// mayName are the files of those that name a lock service all the same, and how often.
var mayName = map[string]int{
	"internal/service/all/all.go": 2, // the list: an import and a line
	"internal/history/history.go": 1, // old histories do not say which service theirs is
}

// TestServicesStayInTheirFolders: no other source names one, in a text or an identifier.
func TestServicesStayInTheirFolders(t *testing.T) {
	folders, err := filepath.Glob("internal/service/*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range folders {
		name := filepath.Base(filepath.Dir(file))
		if name != "all" && !slices.Contains(lockServices, name) {
			t.Fatalf("%s: the list of lock services has no %q", file, name)
		}
	}
	for _, dir := range neutral {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && filepath.Dir(path) == "internal/service" && slices.Contains(lockServices, d.Name()):
				return fs.SkipDir
			case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
				if named := namesServices(t, path, nil); len(named) != mayName[path] {
					t.Errorf("lock services are named %d times, want %d:\n%s", len(named), mayName[path], strings.Join(named, "\n"))
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// namesServices are the places of a file, or of a source in its place, that name a lock
// service.
func namesServices(t *testing.T, path string, source any) (named []string) {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		var text string
		switch n := n.(type) {
		case *ast.Ident:
			text = n.Name
		case *ast.BasicLit:
			text = n.Value
		}
		for _, service := range lockServices {
			if strings.Contains(strings.ToLower(text), service) {
				named = append(named, fmt.Sprintf("%s: %s", files.Position(n.Pos()), text))
			}
		}
		return true
	})
	return named
}

// TestNamesOfServicesAreSeen: in texts and identifiers, and not in comments.
func TestNamesOfServicesAreSeen(t *testing.T) {
	const source = "package p\n\n// etcd\nvar LaneEtcd = \"of etcd\" // etcd\n"
	if named := namesServices(t, "p.go", source); len(named) != 2 {
		t.Errorf("got %q, want an identifier and a text", named)
	}
}
