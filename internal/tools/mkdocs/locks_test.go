package main

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// repository is the root of all files.
var repository = os.DirFS("../../..")

// TestLocksAreCurrent: docs/locks.md is what this makes of the tables of the services.
func TestLocksAreCurrent(t *testing.T) {
	want, err := tried(func() string { return locks(repository) })
	if err != nil {
		t.Fatal(err)
	}
	got, err := fs.ReadFile(repository, "docs/locks.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/locks.md is not current: run go run ./internal/tools/mkdocs")
	}
}

// tables are copies of the tables of all services, and measured ones, to be changed.
func tables(t *testing.T) fstest.MapFS {
	t.Helper()
	files := make(fstest.MapFS)
	for _, s := range tabled() {
		file := all.Chapters(s.Name) + "/recipes.md"
		text, err := fs.ReadFile(repository, file)
		if err != nil {
			t.Fatal(err)
		}
		files[file] = &fstest.MapFile{Data: text}
	}
	files[outagesFile] = &fstest.MapFile{Data: []byte("<!-- bench: begin -->\n| 2 |\n<!-- bench: end -->\n")}
	files[measuredFile] = &fstest.MapFile{Data: []byte("text\n<!-- bench: begin -->\n### measured\n\n| 1 |\n<!-- bench: end -->\n")}
	return files
}

// TestLocksFollowTables: what changes in the table of a service changes in that of all
// locks, which has only the columns that all tables have.
func TestLocksFollowTables(t *testing.T) {
	for _, c := range []struct{ service, old, new, want string }{
		{"redis", "| `lua` | yes | no | no | yes | yes | no | yes |", "| `lua` | yes | no | no | yes | yes | no | no |", "| [redis](redis/recipes.md) | `setnx-expire`, `multi-expire`, `lua`, `listen-only` | yes | no | yes | yes | no | no | – | no |"},
		{"sqlite", "| `immediate` |", "| `new` |", "| [sqlite](sqlite/recipes.md) | `new` | yes | no | yes | yes | no | yes | – | – |"},
		{"mariadb", "| fair |", "| just |", "| service | recipe | exclusive | re-entrant | try | interruptible | expires | token | pause |"},
	} {
		files := tables(t)
		file := files["docs/"+c.service+"/recipes.md"]
		file.Data = []byte(strings.Replace(string(file.Data), c.old, c.new, 1))
		text, err := tried(func() string { return locks(files) })
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(strings.Split(text, "\n"), c.want) {
			t.Errorf("with %s for %s in the table of %s: docs/locks.md lacks %s", c.new, c.old, c.service, c.want)
		}
	}
}

// TestLocksRefuse: tables that cannot be one are errors that say which.
func TestLocksRefuse(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"| `global` | yes ", "| `global` ", "docs/elasticsearch/recipes.md: the row of `global` has 10 cells, want 11"},
		{"A client that does not want to wait", "A client that waits", `the column "try" means "A client that waits`},
		{"- *try*: ", "", `the column "try" means "" for elasticsearch`},
		{"| ", "", "docs/elasticsearch/recipes.md has no table of recipes"},
	} {
		files := tables(t)
		file := files["docs/elasticsearch/recipes.md"]
		file.Data = []byte(strings.ReplaceAll(string(file.Data), c.old, c.new))
		if _, err := tried(func() string { return locks(files) }); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("with %q for %q: got error %v, want %q", c.new, c.old, err, c.want)
		}
	}
	files := tables(t)
	delete(files, "docs/zookeeper/recipes.md")
	if _, err := tried(func() string { return locks(files) }); err == nil || !strings.Contains(err.Error(), "docs/zookeeper/recipes.md") {
		t.Errorf("without ZooKeeper's table: got error %v", err)
	}
}

// TestLocksHaveWhatWasMeasured: all of it, as it stands there.
func TestLocksHaveWhatWasMeasured(t *testing.T) {
	files := tables(t)
	if text, err := tried(func() string { return locks(files) }); err != nil || !strings.Contains(text, "\n### measured\n\n| 1 |\n\n") || !strings.Contains(text, "\n\n| 2 |\n\n") || strings.Contains(text, "bench: begin") {
		t.Errorf("got error %v and\n%s", err, text)
	}
	for _, wrong := range []string{"<!-- bench: end -->", "<!-- bench: begin -->\n"} {
		files[measuredFile] = &fstest.MapFile{Data: []byte(wrong)}
		if _, err := tried(func() string { return locks(files) }); err == nil || !strings.Contains(err.Error(), measuredFile+" has no lines") {
			t.Errorf("%q: got error %v", wrong, err)
		}
	}
	delete(files, measuredFile)
	if _, err := tried(func() string { return locks(files) }); err == nil || !strings.Contains(err.Error(), measuredFile) {
		t.Errorf("without it: got error %v", err)
	}
}

// TestLocksNameLaws: each law that docs/locks.md names is there.
func TestLocksNameLaws(t *testing.T) {
	text, err := tried(func() string { return locks(repository) })
	if err != nil {
		t.Fatal(err)
	}
	laws := regexp.MustCompile("`TestLaws/([a-z_]+)`").FindAllStringSubmatch(text, -1)
	if len(laws) == 0 {
		t.Error("docs/locks.md names no laws")
	}
	for _, m := range laws {
		name := strings.ReplaceAll(m[1], "_", " ")
		if !slices.ContainsFunc(locktest.Laws, func(l locktest.Law) bool { return l.Name == name }) {
			t.Errorf("docs/locks.md names %s, and there is no such law", m[0])
		}
	}
}

var (
	notRunRow = regexp.MustCompile(`(?m)^\| (.+) \(not run\) \|`)
	runRow    = regexp.MustCompile(`(?m)^\| \[([a-z0-9]+)\]\(`)
	section   = regexp.MustCompile(`(?m)^## (\w+)$`)
)

// misplaced are the services whose locks a text calls not run, though gcsim runs them, and
// those of which the text says nothing: neither rows of their recipes nor a section.
func misplaced(text string) (notRun, missing []string) {
	said := make(map[string]bool)
	for _, m := range slices.Concat(runRow.FindAllStringSubmatch(text, -1), section.FindAllStringSubmatch(text, -1)) {
		said[strings.ToLower(m[1])] = true
	}
	for _, s := range all.List {
		if !said[s.Name] {
			missing = append(missing, s.Name)
		}
		for _, m := range notRunRow.FindAllStringSubmatch(text, -1) {
			if strings.Contains(strings.ToLower(m[1]), s.Name) {
				notRun = append(notRun, m[1])
			}
		}
	}
	return notRun, missing
}

// TestLocksSayWhatIsRun: each service has its place among what is run, and none among what
// is not.
func TestLocksSayWhatIsRun(t *testing.T) {
	text, err := tried(func() string { return locks(repository) })
	if err != nil {
		t.Fatal(err)
	}
	if !notRunRow.MatchString(text) {
		t.Error("docs/locks.md names no lock that is not run")
	}
	if notRun, missing := misplaced(text); len(notRun) > 0 || len(missing) > 0 {
		t.Errorf("docs/locks.md calls %q not run, and says nothing of %q", notRun, missing)
	}
	wrong := strings.ReplaceAll(text, "\n## Hazelcast\n", "\n## Others\n") + "| Hazelcast FencedLock (not run) | x |\n"
	if notRun, missing := misplaced(wrong); len(notRun) != 1 || !slices.Equal(missing, []string{"hazelcast"}) {
		t.Errorf("a text that does so is not caught: %q, %q", notRun, missing)
	}
}
