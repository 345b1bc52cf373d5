package main

import (
	"io/fs"
	"net/url"
	"os"
	"path"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"golang.org/x/net/html"

	"github.com/fencelab/fencelab/internal/platform/fail"
)

var root string // of the site that all tests look at

func TestMain(m *testing.M) {
	var err error
	if root, err = os.MkdirTemp("", "site-"); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := os.RemoveAll(root); err != nil {
		panic(err)
	}
	os.Exit(code)
}

var build = sync.OnceValue(func() error {
	return fail.Caught(func() { write(read(os.DirFS("../..")), nil, root) })
})

// built is the site of this clone, made once.
func built(t *testing.T) fs.FS {
	t.Helper()
	if err := build(); err != nil {
		t.Fatal(err)
	}
	return os.DirFS(root)
}

// element is what a page says by a tag.
type element struct {
	name string
	attr map[string]string
	text string // of a script or a style
}

// elements are those of each page.
func elements(t *testing.T, site fs.FS) map[string][]element {
	t.Helper()
	pages := make(map[string][]element)
	err := fs.WalkDir(site, ".", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(file) != ".html" {
			return err
		}
		f, err := site.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		tree, err := html.Parse(f)
		if err != nil {
			return err
		}
		for n := range tree.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			e := element{name: n.Data, attr: make(map[string]string)}
			for _, a := range n.Attr {
				e.attr[a.Key] = a.Val
			}
			if n.FirstChild != nil {
				e.text = n.FirstChild.Data
			}
			pages[file] = append(pages[file], e)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// leads are the links of an element, by its attributes.
func (e element) leads() (list []string) {
	for _, name := range []string{"href", "src", "srcset", "action"} {
		if to, has := e.attr[name]; has {
			list = append(list, to)
		}
	}
	return list
}

// TestLinks: each link within the site leads to a file, and one with a # to an element of that page.
func TestLinks(t *testing.T) {
	site := built(t)
	pages := elements(t, site)
	ids := make(map[string]bool)
	for file, list := range pages {
		for _, e := range list {
			ids[file+"#"+e.attr["id"]] = true
		}
	}
	for file, list := range pages {
		for _, e := range list {
			for _, to := range e.leads() {
				at, err := url.Parse(to)
				if err == nil && at.Scheme != "" {
					continue
				}
				if err != nil || strings.HasPrefix(at.Path, "/") {
					t.Errorf("%s: %q is no link within a site that lies anywhere (%v)", file, to, err)
					continue
				}
				target := file
				if at.Path != "" {
					target = path.Join(path.Dir(file), at.Path)
				}
				if _, err := fs.Stat(site, target); err != nil {
					t.Errorf("%s: %q leads nowhere: %v", file, to, err)
				} else if at.Fragment != "" && !strings.HasPrefix(target, "stage/") && !ids[target+"#"+at.Fragment] {
					t.Errorf("%s: %q: %s has no such place", file, to, target)
				}
			}
		}
	}
	if len(pages) < 150 {
		t.Errorf("the site has %d pages: want one for each document", len(pages))
	}
}

// TestWays: a chapter has one way to the next one, by its title.
func TestWays(t *testing.T) {
	chapter, err := fs.ReadFile(built(t), "docs/01-gc-pause.html")
	if err != nil {
		t.Fatal(err)
	}
	if want := `<a rel="next" href="02-gc-pause-real.html"><small>next</small> 2. A real garbage collection</a>`; !strings.Contains(string(chapter), want) {
		t.Errorf("the first chapter has no %s", want)
	}
	if strings.Contains(string(chapter), "all pitfalls") {
		t.Error("the first chapter has the ways of its document, too")
	}
}

// TestPlays: each variant that the model has can be played from its chapter.
func TestPlays(t *testing.T) {
	site := built(t)
	chapter, err := fs.ReadFile(site, "docs/01-gc-pause.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, variant := range []string{"unfenced", "fenced"} {
		if link := `href="../stage/index.html#01-gc-pause/` + variant + `"`; !strings.Contains(string(chapter), link) {
			t.Errorf("the first chapter has no %s", link)
		}
	}
}

// TestPolicy: each page has a strict policy of content, has nothing that the policy forbids, and asks nobody else.
func TestPolicy(t *testing.T) {
	for file, list := range elements(t, built(t)) {
		has := false
		for _, e := range list {
			has = has || e.name == "meta" && e.attr["http-equiv"] == "Content-Security-Policy" && strings.HasPrefix(e.attr["content"], "default-src 'self'")
			if e.name == "style" || e.name == "script" && e.text != "" {
				t.Errorf("%s has a %s in its text: %q", file, e.name, e.text)
			}
			for name, value := range e.attr {
				if name == "style" || strings.HasPrefix(name, "on") {
					t.Errorf("%s: <%s %s=%q> would be left out by the policy", file, e.name, name, value)
				}
			}
			if e.name == "a" {
				continue
			}
			for _, to := range e.leads() {
				if isElsewhere(to) {
					t.Errorf("%s: <%s> asks another site for %s", file, e.name, to)
				}
			}
		}
		if !has {
			t.Errorf("%s has no policy", file)
		}
	}
}

// TestBadDocuments: what the site cannot show is an error that says where and what.
func TestBadDocuments(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"no title":          {"docs/new.md", "Words.\n", "docs/new.md: want a line with a title"},
		"a link to nowhere": {"docs/new.md", "# New\n\n[Where?](nowhere.md)\n", "docs/new.md: its link nowhere.md leads nowhere"},
		"a missing page":    {"docs/tour.md", "", "there is no docs/tour.md"},
	} {
		clone := fstest.MapFS{}
		err := fs.WalkDir(os.DirFS("../.."), "docs", func(file string, d fs.DirEntry, err error) error {
			if err == nil && path.Ext(file) == ".md" {
				clone[file] = &fstest.MapFile{Data: []byte("# A page\n")}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		clone["README.md"] = &fstest.MapFile{Data: []byte("# A page\n")}
		if clone[c.file] = (&fstest.MapFile{Data: []byte(c.text)}); c.text == "" {
			delete(clone, c.file)
		}
		err = fail.Caught(func() { write(read(clone), nil, t.TempDir()) })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	full := t.TempDir()
	if err := os.WriteFile(full+"/mine", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := fail.Caught(func() { empty(full) }); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("a directory with a file: %v", err)
	}
}
