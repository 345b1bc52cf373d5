package stage

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestVariants: of a scenario these are the variants that the model has.
func TestVariants(t *testing.T) {
	for scenario, want := range map[string]string{
		"01-gc-pause": "unfenced fenced", "19-redlock-paused": "redlock fenced no-token", "20-lock-delay": "", "no-such": "",
	} {
		list, err := Variants(scenario)
		var names []string
		for _, v := range list {
			names = append(names, v.Name)
		}
		if got := strings.Join(names, " "); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", scenario, got, err, want)
		}
	}
}

// TestCatalog: no two worlds have the same address, and harm comes first.
func TestCatalog(t *testing.T) {
	list, err := catalog()
	if err != nil {
		t.Fatal(err)
	}
	known := make(map[string]bool)
	for _, c := range list.Scenarios {
		for i, v := range c.Variants {
			name := c.Name + "/" + v.Name
			if known[name] {
				t.Errorf("there are two worlds %s", name)
			}
			if known[name] = true; v.Control && i > 0 && !c.Variants[i-1].Control {
				t.Errorf("%s: what helps comes before the harm", name)
			}
			if v.World.Blank.Head == "" || len(v.Plan) == 0 || v.World.Run.Title != c.Title {
				t.Errorf("%s lacks its story or its file", name)
			}
		}
	}
	if first := list.Scenarios[0]; first.Name != "01-gc-pause" || first.Variants[0].Name != "unfenced" {
		t.Errorf("the page begins with %s", first.Name)
	}
	if about := list.Abouts["etcd"]["gcsim: save SERVICE"]; about != "Takes a snapshot of etcd." {
		t.Errorf("a step of etcd's own is %q", about)
	}
}

// TestWrite: all that the page's files name is there, and its addresses are its own.
func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "below", "stage")
	if err := Write(dir, []byte("program")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "..", "index.html"), nil, 0o666); err != nil { // the site's
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?:from|import) "\./([^"]+)"|new URL\("([^"]+)"|(?:href|src)="([^"#]+)"`)
	seen := 0
	for _, f := range files {
		if ext := filepath.Ext(f.Name()); ext != ".js" && ext != ".html" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range names.FindAllSubmatch(text, -1) {
			seen++
			name := string(found[1]) + string(found[2]) + string(found[3])
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Errorf("%s names %s: %v", f.Name(), name, err)
			}
		}
	}
	if seen < 20 {
		t.Errorf("the files name %d others, want more: the test looks for something else", seen)
	}
	blocked := filepath.Join(dir, "index.html", "stage")
	if err := Write(blocked, nil); err == nil {
		t.Error("it was written below a file")
	}
}
