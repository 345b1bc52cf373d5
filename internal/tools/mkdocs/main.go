// Command mkdocs makes what is made of docs/: the table of all pitfalls and the ways between
// chapters, the tables of all locks, of all lock libraries, of all laws and of what lock services can be set to, the
// slides of the course, and from the results of a run one picture per scenario.
package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/fencelab/fencelab/docs"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/outside/laws"
	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/scenarios"
)

const usage = `usage: go run ./internal/tools/mkdocs [OUT], in the repository's root

It writes README.md of each folder of chapters, and the last line of each chapter, which
says where to go from there; docs/locks.md, from the recipes.md of each service; docs/libraries.md,
from the pages of the languages; docs/laws.md;
the tables of services' settings and recipes in docs/scenarios.md; the slides of the course; and, from what "gcsim run -o OUT" left in OUT, the pictures: in the folder's
pictures/, and of the main story docs/unfenced.svg and docs/fenced.svg. Each has a form
for phones, called -narrow. A picture stays as it is if OUT has no run of its scenario.`

func main() {
	log.SetFlags(0)
	if len(os.Args) > 2 || len(os.Args) == 2 && strings.HasPrefix(os.Args[1], "-") {
		log.Fatal(usage)
	}
	if err := fail.Caught(func() { run(os.Args[1:]) }); err != nil {
		log.Fatal("mkdocs: ", err)
	}
}

func run(out []string) {
	list := load()
	for file, text := range fail.Must(texts(os.DirFS("."), list)) {
		fail.If(os.WriteFile(file, []byte(text), 0o666))
	}
	if len(out) > 0 {
		draw(list, out[0])
	}
}

// texts are all documents that are made without a run, by their files.
func texts(repository fs.FS, list []*scenario.Scenario) (map[string]string, error) {
	made := make(map[string]string)
	var errs []error
	add := func(make func()) { errs = append(errs, fail.Caught(make)) }
	for _, s := range all.List {
		add(func() { made[all.Chapters(s.Name)+"/README.md"] = table(repository, s.Name, list) })
		add(func() { maps.Copy(made, withWays(repository, s.Name, list)) })
	}
	add(func() {
		made["docs/laws.md"] = filled(sources, "laws.md.tmpl", template.FuncMap{"laws": laws.List, "tried": laws.Tried})
	})
	add(func() { made["docs/locks.md"] = locks(repository) })
	add(func() { made["docs/libraries.md"] = libraries(repository) })
	add(func() { made[wordsFile] = words(repository) })
	add(func() { made[docs.Slides] = slides(repository, list) })
	return made, errors.Join(errs...)
}

func draw(list []*scenario.Scenario, out string) {
	dir := fail.Must(os.MkdirTemp("", "mkdocs-"))
	defer os.RemoveAll(dir)
	gcsim := filepath.Join(dir, "gcsim")
	fail.If(command("go", "build", "-o", gcsim, "./cmd/gcsim"))
	kept := 0
	for _, p := range pictures(list) {
		if _, err := os.Stat(filepath.Join(out, p.scenario)); errors.Is(err, fs.ErrNotExist) {
			kept++
			continue
		}
		histories := withoutPrefix(dir, p.histories(out))
		wide := append([]string{"draw", "-o", p.file + ".svg"}, histories...)
		narrow := append([]string{"draw", "--narrow", "-o", p.file + "-narrow.svg"}, histories...)
		if p.moving {
			wide, narrow = append(wide, "--moving"), append(narrow, "--moving")
		}
		if err := errors.Join(command(gcsim, wide...), command(gcsim, narrow...)); err != nil {
			fail.If(fmt.Errorf("%s: %w", p.file, err))
		}
	}
	if kept > 0 {
		log.Printf("%d pictures stay as they are: %s has no run of their scenarios", kept, out)
	}
}

// prefix is the prefix of a run's locks on servers that serve other runs as well, which would be
// another one in each picture.
var prefix = regexp.MustCompile(`/gcsim-[A-Z2-7]{26}`)

// withoutPrefix are copies of histories, in dir, in which no lock has a prefix.
func withoutPrefix(dir string, histories []string) (copies []string) {
	for i, history := range histories {
		plain := filepath.Join(dir, fmt.Sprintf("%d.jsonl", i))
		fail.If(os.WriteFile(plain, prefix.ReplaceAll(fail.Must(os.ReadFile(history)), nil), 0o666))
		copies = append(copies, plain)
	}
	return copies
}

func command(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// picture is one of variants of a scenario, one below the other.
type picture struct {
	file     string // without what its forms end in
	scenario string
	variants []*scenario.Variant
	moving   bool
}

// pictures are the pictures of the documents, the harm first: README's, which show the main story without tokens and with
// them, and one for each chapter.
func pictures(scenarios []*scenario.Scenario) []picture {
	var list []picture
	main := scenarios[0]
	for _, v := range main.HarmFirst() {
		list = append(list, picture{"docs/" + v.Name, main.Name, []*scenario.Variant{v}, v.Control})
	}
	for _, s := range scenarios {
		folder := all.Chapters(s.Variants[0].World.Service)
		list = append(list, picture{folder + "/pictures/" + s.Name, s.Name, s.HarmFirst(), false})
	}
	return list
}

// load reads all scenarios, in order, those of the first lock service first.
func load() (list []*scenario.Scenario) {
	language := lab.Language(all.List)
	for _, service := range all.List {
		for _, file := range fail.Must(fs.Glob(scenarios.FS, service.Name+"/*.yaml")) {
			data := fail.Must(scenarios.FS.ReadFile(file))
			list = append(list, fail.Must(language.Parse(path.Join("scenarios", file), strings.TrimSuffix(path.Base(file), ".yaml"), data)))
		}
	}
	return list
}

// sources have what people wrote of the documents that are made for all services together.
//
//go:embed *.md.tmpl
var sources embed.FS

// tableSource has what people wrote of README.md of a service's chapters, with a row for each scenario.
func tableSource(service string) string { return all.Chapters(service) + "/README.md.tmpl" }

// table is README.md of a service's chapters.
func table(repository fs.FS, service string, list []*scenario.Scenario) string {
	file := tableSource(service)
	rest := slices.DeleteFunc(slices.Clone(list), func(s *scenario.Scenario) bool { return s.Variants[0].World.Service != service })
	row := func(name, happens, helps string) (string, error) {
		if len(rest) == 0 || rest[0].Name != name {
			return "", fmt.Errorf("%s: the row of %s is not in its place; want one for each scenario, in their order", file, name)
		}
		s := rest[0]
		rest = rest[1:]
		number, _, _ := strings.Cut(name, "-")
		n, err := strconv.Atoi(number)
		if err != nil {
			return "", fmt.Errorf("scenarios/%s/%s.yaml: its name does not begin with a number", service, name)
		}
		return fmt.Sprintf("| %d. [%s](%s.md) | %s | %s |", n, s.Title, name, happens, helps), nil
	}
	text := filled(repository, file, template.FuncMap{
		"row":    row,
		"others": func() (string, error) { return others(repository) },
	})
	if len(rest) > 0 {
		fail.If(fmt.Errorf("%s: there is no row for %s", file, rest[0].Name))
	}
	return text
}

// filled is a source in which functions have written.
func filled(of fs.FS, source string, functions template.FuncMap) string {
	var b strings.Builder
	fail.If(fail.Must(template.New(path.Base(source)).Funcs(functions).ParseFS(of, source)).Execute(&b, nil))
	return b.String()
}

var tableTitle = regexp.MustCompile(`(?m)^# The pitfalls of (.+?)(?: locks)?$`)

// others are links to the chapters of all services but the first.
func others(repository fs.FS) (string, error) {
	var links []string
	for _, s := range all.List[1:] {
		source, err := fs.ReadFile(repository, tableSource(s.Name))
		if err != nil {
			return "", err
		}
		title := tableTitle.FindSubmatch(source)
		if title == nil {
			return "", fmt.Errorf("%s: want a title that begins with The pitfalls of", tableSource(s.Name))
		}
		links = append(links, fmt.Sprintf("[%s](%s/README.md)", title[1], s.Name))
	}
	return "The pitfalls of locks: " + strings.Join(links, ", "), nil
}

// histories are those that the picture is of.
func (p picture) histories(out string) (list []string) {
	for _, v := range p.variants {
		list = append(list, filepath.Join(out, p.scenario, v.Name, "history.jsonl"))
	}
	return list
}
