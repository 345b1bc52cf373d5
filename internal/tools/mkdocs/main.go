// Command mkdocs makes what is made of docs/: the table of all pitfalls and the ways between
// chapters, the tables of all locks, of all laws and of what lock services can be set to, the slides
// of the course, and from the results of a run one picture per scenario.
package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/scenarios"
)

const usage = `usage: go run ./internal/tools/mkdocs [OUT], in the repository's root

It writes README.md of each folder of chapters, and the last line of each chapter, which
says where to go from there; docs/locks.md, from the recipes.md of each service; docs/laws.md;
the tables of services' settings and recipes in docs/scenarios.md; the slides of the course; and, from what "gcsim run -o OUT" left in OUT, the pictures: in the folder's
pictures/, and of the main story docs/unfenced.svg and docs/fenced.svg. Each has a form
for phones, called -narrow. A picture stays as it is if OUT has no run of its scenario.`

func main() {
	log.SetFlags(0)
	if len(os.Args) > 2 || len(os.Args) == 2 && strings.HasPrefix(os.Args[1], "-") {
		log.Fatal(usage)
	}
	if err := run(os.Args[1:]); err != nil {
		log.Fatal("mkdocs: ", err)
	}
}

func run(out []string) error {
	list, err := load()
	if err != nil {
		return err
	}
	repository := os.DirFS(".")
	for _, s := range all.List {
		text, err := table(repository, s.Name, list)
		if err != nil {
			return err
		}
		made, err := withWays(repository, s.Name, list)
		if err != nil {
			return err
		}
		made[all.Chapters(s.Name)+"/README.md"] = text
		for file, text := range made {
			if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
				return err
			}
		}
	}
	text, err := locks(repository)
	if err != nil {
		return err
	}
	if err := os.WriteFile("docs/locks.md", []byte(text), 0o666); err != nil {
		return err
	}
	if err := os.WriteFile(lawsFile, []byte(lawsTable()), 0o666); err != nil {
		return err
	}
	if text, err = words(repository); err != nil {
		return err
	}
	if err := os.WriteFile(wordsFile, []byte(text), 0o666); err != nil {
		return err
	}
	if text, err = slides(repository, list); err != nil {
		return err
	}
	if err := os.WriteFile(slidesFile, []byte(text), 0o666); err != nil {
		return err
	}
	if len(out) == 0 {
		return nil
	}
	dir, err := os.MkdirTemp("", "mkdocs-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	gcsim := filepath.Join(dir, "gcsim")
	if err := command("go", "build", "-o", gcsim, "./cmd/gcsim"); err != nil {
		return err
	}
	kept := 0
	for _, p := range pictures(list) {
		if _, err := os.Stat(filepath.Join(out[0], p.scenario)); errors.Is(err, fs.ErrNotExist) {
			kept++
			continue
		}
		histories, err := withoutPrefix(dir, p.histories(out[0]))
		if err != nil {
			return err
		}
		wide := append([]string{"draw", "-o", p.file + ".svg"}, histories...)
		narrow := append([]string{"draw", "--narrow", "-o", p.file + "-narrow.svg"}, histories...)
		if err := errors.Join(command(gcsim, wide...), command(gcsim, narrow...)); err != nil {
			return fmt.Errorf("%s: %w", p.file, err)
		}
	}
	if kept > 0 {
		log.Printf("%d pictures stay as they are: %s has no run of their scenarios", kept, out[0])
	}
	return nil
}

// prefix is that of a run's locks on servers that serve other runs as well, which would be
// another one in each picture.
var prefix = regexp.MustCompile(`/gcsim-[A-Z2-7]{26}`)

// withoutPrefix are copies of histories, in dir, in which no lock has a prefix.
func withoutPrefix(dir string, histories []string) (copies []string, err error) {
	for i, history := range histories {
		text, err := os.ReadFile(history)
		if err != nil {
			return nil, err
		}
		plain := filepath.Join(dir, fmt.Sprintf("%d.jsonl", i))
		if err := os.WriteFile(plain, prefix.ReplaceAll(text, nil), 0o666); err != nil {
			return nil, err
		}
		copies = append(copies, plain)
	}
	return copies, nil
}

// command runs a program.
func command(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// picture is one of variants of a scenario, one below the other.
type picture struct {
	file     string // without what its forms end in
	scenario string
	variants []scenario.Variant
}

// pictures are those of the documents: README's, which show the main story without
// tokens and with them, and one for each chapter.
func pictures(scenarios []*scenario.Scenario) []picture {
	var list []picture
	main := scenarios[0]
	for i, v := range main.Variants {
		list = append(list, picture{"docs/" + v.Name, main.Name, main.Variants[i : i+1]})
	}
	for _, s := range scenarios {
		folder := all.Chapters(s.Variants[0].World.Service)
		list = append(list, picture{folder + "/pictures/" + s.Name, s.Name, s.Variants})
	}
	return list
}

// load reads all scenarios, in order, those of the first lock service first.
func load() ([]*scenario.Scenario, error) {
	var files []string
	for _, s := range all.List {
		of, err := fs.Glob(scenarios.FS, s.Name+"/*.yaml")
		if err != nil {
			return nil, err
		}
		files = append(files, of...)
	}
	language := lab.Language(all.List)
	var list []*scenario.Scenario
	for _, file := range files {
		data, err := scenarios.FS.ReadFile(file)
		if err != nil {
			return nil, err
		}
		s, err := language.Parse(path.Join("scenarios", file), strings.TrimSuffix(path.Base(file), ".yaml"), data)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// sources have what people wrote of the documents that are made for all services together.
//
//go:embed *.md.tmpl
var sources embed.FS

// tableSource has what people wrote of README.md of a service's chapters, with a row for each
// scenario.
func tableSource(service string) string { return all.Chapters(service) + "/README.md.tmpl" }

// table is README.md of a service's chapters.
func table(repository fs.FS, service string, list []*scenario.Scenario) (string, error) {
	file := tableSource(service)
	source, err := fs.ReadFile(repository, file)
	if err != nil {
		return "", err
	}
	rest := slices.DeleteFunc(slices.Clone(list), func(s *scenario.Scenario) bool { return s.Variants[0].World.Service != service })
	row := func(name, happens, helps string) (string, error) {
		if len(rest) == 0 || rest[0].Name != name {
			return "", fmt.Errorf("%s: the row of %s is not in its place; want one for each scenario, in their order", file, name)
		}
		s := rest[0]
		rest = rest[1:]
		number, short, _ := strings.Cut(name, "-")
		n, err := strconv.Atoi(number)
		if err != nil {
			return "", fmt.Errorf("scenarios/%s/%s.yaml: its name does not begin with a number", service, name)
		}
		return fmt.Sprintf("| %d. [%s](%s.md) | %s | %s | `go run ./cmd/gcsim run %s` |", n, s.Title, name, happens, helps, short), nil
	}
	t, err := template.New(file).Funcs(template.FuncMap{
		"row":    row,
		"others": func() (string, error) { return others(repository) },
	}).Parse(string(source))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := t.Execute(&b, nil); err != nil {
		return "", err
	}
	if len(rest) > 0 {
		return "", fmt.Errorf("%s: there is no row for %s", file, rest[0].Name)
	}
	return b.String(), nil
}

var tableTitle = regexp.MustCompile(`(?m)^# The pitfalls (of .+)$`)

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
	return "The pitfalls " + strings.Join(links, ", "), nil
}

// histories are those that the picture is of, the control's last.
func (p picture) histories(out string) []string {
	var list, control []string
	for _, v := range p.variants {
		history := filepath.Join(out, p.scenario, v.Name, "history.jsonl")
		if v.Control {
			control = append(control, history)
		} else {
			list = append(list, history)
		}
	}
	return append(list, control...)
}
