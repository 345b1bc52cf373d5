package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/platform/nearest"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/scenarios"
)

// mainStory is what gcsim runs when it is not told what to run.
const mainStory = "01-gc-pause"

// builtin is the scenarios that gcsim brings with it, in order: those of the first lock service first.
func builtin() ([]*scenario.Scenario, error) {
	var list []*scenario.Scenario
	for _, s := range all.List {
		own, err := ofService(s.Name)
		if err != nil {
			return nil, err
		}
		list = append(list, own...)
	}
	return list, nil
}

// chapterFile is the chapter about a scenario that gcsim brings with it; "" where it
// brings none of that name.
func chapterFile(name string) string {
	list, err := builtin()
	i := slices.IndexFunc(list, func(s *scenario.Scenario) bool { return s.Name == name })
	if err != nil || i < 0 {
		return ""
	}
	return all.Chapters(list[i].Variants[0].World.Service) + "/" + name + ".md"
}

// shortName is a scenario's name without its number.
func shortName(name string) string {
	_, short, _ := strings.Cut(name, "-")
	return short
}

// scenarioNames completes arguments in a shell: with the names of scenarios, with
// what each is about, and with files.
func scenarioNames(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	list, err := builtin()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []cobra.Completion
	for _, s := range list {
		names = append(names, cobra.CompletionWithDesc(shortName(s.Name), s.Title))
	}
	return names, cobra.ShellCompDirectiveDefault
}

// ofService is the scenarios of a lock service; none where it has no folder.
func ofService(name string) ([]*scenario.Scenario, error) {
	if _, err := fs.Stat(scenarios.FS, name); err != nil {
		return nil, nil
	}
	return fromDir(scenarios.FS, "scenarios/"+name, name)
}

// load reads what the arguments name: a scenario that gcsim brings with it, a
// file, or a directory of files. Without any it is all that gcsim brings with it.
func load(args []string) ([]*scenario.Scenario, error) {
	if len(args) == 0 {
		return builtin()
	}
	var list []*scenario.Scenario
	for _, arg := range args {
		some, err := loadOne(arg)
		if err != nil {
			return nil, err
		}
		list = append(list, some...)
	}
	return list, distinct(list)
}

// distinct holds scenarios to names by which their results can be told apart and written to files.
func distinct(list []*scenario.Scenario) error {
	seen := make(map[string]bool)
	for _, s := range list {
		if !isName(s.Name) {
			return fmt.Errorf("a scenario is called by its file's name, and %q is no name: rename the file", s.Name)
		}
		if seen[s.Name] {
			return fmt.Errorf("two of the scenarios are called %q, and their results could not be told apart: rename a file, or run one twice by --repeat 2", s.Name)
		}
		seen[s.Name] = true
	}
	return nil
}

// isName reports whether a file can be called so, and be seen.
func isName(name string) bool {
	unseen := func(r rune) bool { return !unicode.IsPrint(r) }
	return name != "" && !strings.HasPrefix(name, ".") && !strings.ContainsFunc(name, unseen)
}

func loadOne(arg string) ([]*scenario.Scenario, error) {
	known, err := builtin()
	if err != nil {
		return nil, err
	}
	names := service.Names(all.List)
	inFolder := slices.ContainsFunc(names, func(of string) bool { return strings.HasPrefix(arg, of+"/") && !isYAML(arg) })
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir():
		return fromDir(os.DirFS(arg), arg, ".")
	case err == nil || strings.ContainsRune(arg, filepath.Separator) && !inFolder || isYAML(arg):
		data, err := os.ReadFile(arg)
		if err != nil {
			return nil, err
		}
		s, err := language.Parse(arg, nameOf(arg), data)
		if err != nil {
			return nil, err
		}
		return []*scenario.Scenario{s}, nil
	}
	if slices.Contains(names, arg) {
		return ofService(arg)
	}
	for _, s := range known { // a number alone is the first service's, as that comes first
		number, name, _ := strings.Cut(s.Name, "-")
		called := []string{s.Name, name, number, strings.TrimPrefix(number, "0")}
		of := s.Variants[0].World.Service
		for _, c := range called {
			if arg == c || arg == of+"/"+c {
				return []*scenario.Scenario{s}, nil
			}
		}
		names = append(names, s.Name, name)
	}
	near := nearest.Word(arg, names)
	if _, err := os.Stat(arg + ".yaml"); err == nil {
		near = arg + ".yaml"
	}
	if near != "" {
		return nil, fmt.Errorf("no scenario is called %q, and there is no such file: did you mean %s?", arg, near)
	}
	return nil, fmt.Errorf("no scenario is called %q, and there is no such file: \"gcsim list\" names them all", arg)
}

// fromDir reads all scenarios of a directory; in says where it is, for errors.
func fromDir(fsys fs.FS, in, dir string) ([]*scenario.Scenario, error) {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, err
	}
	var list []*scenario.Scenario
	for _, e := range entries {
		if e.IsDir() || !isYAML(e.Name()) {
			continue
		}
		data, err := fs.ReadFile(fsys, path.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		s, err := language.Parse(path.Join(in, e.Name()), nameOf(e.Name()), data)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s has no scenarios (*.yaml)", in)
	}
	slices.SortFunc(list, func(a, b *scenario.Scenario) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func isYAML(name string) bool {
	ext := filepath.Ext(name)
	return ext == ".yaml" || ext == ".yml"
}

func nameOf(file string) string {
	base := filepath.Base(file)
	return strings.TrimSuffix(base, filepath.Ext(base))
}
