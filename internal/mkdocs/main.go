// Command mkdocs makes what is made of docs/: the table of all pitfalls, and
// from the results of a run one picture per scenario.
package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/scenarios"
)

const usage = `usage: go run ./internal/mkdocs [OUT], in the repository's root

It writes docs/README.md, and, from what "gcsim run -o OUT" left in OUT, the
pictures: docs/pictures/, and of the main story docs/unfenced.svg and
docs/fenced.svg. Each has a form for phones, called -narrow.`

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
	all, err := load()
	if err != nil {
		return err
	}
	text, err := table(all)
	if err != nil {
		return err
	}
	if err := os.WriteFile("docs/README.md", []byte(text), 0o666); err != nil {
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
	for _, p := range pictures(all) {
		histories := p.histories(out[0])
		wide := append([]string{"draw", "-o", p.file + ".svg"}, histories...)
		narrow := append([]string{"draw", "--narrow", "-o", p.file + "-narrow.svg"}, histories...)
		if err := errors.Join(command(gcsim, wide...), command(gcsim, narrow...)); err != nil {
			return fmt.Errorf("%s: %w", p.file, err)
		}
	}
	return nil
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
func pictures(all []*scenario.Scenario) []picture {
	var list []picture
	for i, v := range all[0].Variants {
		list = append(list, picture{"docs/" + v.Name, all[0].Name, all[0].Variants[i : i+1]})
	}
	for _, s := range all {
		list = append(list, picture{"docs/pictures/" + s.Name, s.Name, s.Variants})
	}
	return list
}

// load reads all scenarios, in order.
func load() ([]*scenario.Scenario, error) {
	files, err := fs.Glob(scenarios.FS, "*/*.yaml")
	if err != nil {
		return nil, err
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

// source has what people wrote of docs/README.md, with a row for each scenario.
//
//go:embed README.md.tmpl
var source string

// table is docs/README.md.
func table(all []*scenario.Scenario) (string, error) {
	const file = "internal/mkdocs/README.md.tmpl"
	rest := all
	row := func(name, happens, helps string) (string, error) {
		if len(rest) == 0 || rest[0].Name != name {
			return "", fmt.Errorf("%s: the row of %s is not in its place; want one for each scenario, in their order", file, name)
		}
		s := rest[0]
		rest = rest[1:]
		number, short, _ := strings.Cut(name, "-")
		n, err := strconv.Atoi(number)
		if err != nil {
			return "", fmt.Errorf("scenarios/%s.yaml: its name does not begin with a number", name)
		}
		return fmt.Sprintf("| %d. [%s](%s.md) | %s | %s | `go run ./cmd/gcsim run %s` |", n, s.Title, name, happens, helps, short), nil
	}
	t, err := template.New(file).Funcs(template.FuncMap{"row": row}).Parse(source)
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
