package fencelab_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// theList is the one place that names the lock services which are shipped.
const theList = "internal/service/all"

// lockServices are the folders of lock services, below internal/service.
func lockServices(t *testing.T) (names []string) {
	t.Helper()
	folders, err := os.ReadDir("internal/service")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		if f.IsDir() && f.Name() != filepath.Base(theList) {
			names = append(names, f.Name())
		}
	}
	return names
}

// neutral are the packages that know lock services by internal/service alone.
var neutral = []string{
	"internal/lab", "internal/explore", "internal/scenario", "internal/history", "internal/judge/verdict", "internal/judge", "internal/report",
	"internal/clients/agent", "internal/scenario/setting", "internal/service", "internal/serve", "cmd/gcsim",
}

// mayName are the files of those that name a lock service all the same, and how often.
var mayName = map[string]int{
	"internal/history/history.go": 1, // old histories do not say which service theirs is
}

// TestServicesStayInTheirFolders: no other source names one, in a text or an identifier.
func TestServicesStayInTheirFolders(t *testing.T) {
	services := lockServices(t)
	for _, dir := range neutral {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && path == theList || filepath.Dir(path) == "internal/service" && slices.Contains(services, d.Name()):
				return fs.SkipDir
			case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
				if named := namesServices(t, services, path, nil); len(named) != mayName[path] {
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
func namesServices(t *testing.T, services []string, path string, source any) (named []string) {
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
		for _, service := range services {
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
	if named := namesServices(t, lockServices(t), "p.go", source); len(named) != 2 {
		t.Errorf("got %q, want an identifier and a text", named)
	}
}

// TestWhoIsADatabase: what databases have in common is imported by them alone.
func TestWhoIsADatabase(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		name, imports, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, module)), " ")
		if slices.Contains(strings.Fields(imports), module+"internal/service/sqlservice") && !slices.Contains(databases, name) {
			t.Errorf("%s imports it, and is no database", name)
		}
	}
}

// databases are the lock services that are such.
var databases = []string{"internal/service/postgres", "internal/service/mariadb", "internal/service/sqlite"}
