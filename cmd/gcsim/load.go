package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/platform/columns"
	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/platform/nearest"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/scenarios"
)

// mainStory is what gcsim runs when it is not told what to run.
const mainStory = "01-gc-pause"

// builtin is the scenarios that gcsim brings with it, in order: those of the first lock service first. Nobody
// changes them.
var builtin = sync.OnceValues(func() ([]*scenario.Scenario, error) {
	var list []*scenario.Scenario
	for _, s := range all.List {
		own, err := ofService(s.Name)
		if err != nil {
			return nil, err
		}
		list = append(list, own...)
	}
	return list, nil
})

// brought reports whether gcsim brings a scenario of that name with it, and returns that.
func brought(name string) (*scenario.Scenario, bool) {
	list, err := builtin()
	i := slices.IndexFunc(list, func(s *scenario.Scenario) bool { return s.Name == name })
	if err != nil || i < 0 {
		return nil, false
	}
	return list[i], true
}

// chapterFile is the chapter about a scenario that gcsim brings with it; "" where it
// brings none of that name.
func chapterFile(name string) string {
	s, ok := brought(name)
	if !ok {
		return ""
	}
	return all.Chapters(itsService(s)) + "/" + name + ".md"
}

// called is what lists call a scenario: one that gcsim brings with it by its service, its number and its name.
func called(s *scenario.Scenario) string {
	if _, ok := brought(s.Name); !ok {
		return s.Name
	}
	return id(s) + " " + shortName(s.Name)
}

// id is a scenario's service and its number there, as in redis/5.
func id(s *scenario.Scenario) string {
	number, _, _ := strings.Cut(s.Name, "-")
	return itsService(s) + "/" + strings.TrimPrefix(number, "0")
}

func itsService(s *scenario.Scenario) string { return s.Variants[0].World.Service }

// shortName is a scenario's name without its number.
func shortName(name string) string {
	_, short, _ := strings.Cut(name, "-")
	return short
}

// scenarioNames completes arguments in a shell: with the names of scenarios, with
// what each is about, and with files; behind a slash also with the scenarios of a
// service, and with variants.
func scenarioNames(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	list, err := builtin()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []cobra.Completion
	for _, s := range list {
		short := shortName(s.Name)
		names = append(names, cobra.CompletionWithDesc(short, s.Title))
		if !strings.Contains(typed, "/") {
			continue
		}
		names = append(names, cobra.CompletionWithDesc(itsService(s)+"/"+short, s.Title))
		for _, v := range s.Variants {
			names = append(names, short+"/"+v.Name)
		}
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
// file, one variant of these, or a directory of files. Without any it is all that
// gcsim brings with it. On notes it says which scenario a number alone is, where
// several services have that number.
func load(args []string, notes io.Writer) ([]*scenario.Scenario, error) {
	known, err := builtin()
	if len(args) == 0 || err != nil {
		return known, err
	}
	var list []*scenario.Scenario
	for _, arg := range args {
		some, err := loadOne(known, arg)
		if err != nil {
			return nil, err
		}
		if same := sameNumber(known, arg); len(same) > 1 {
			fmt.Fprintln(notes, columns.Fit(arg+" is "+called(same[0])+". Also called so: "+strings.Join(ids(same[1:]), ", "), columns.Of(notes, "")))
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

func loadOne(known []*scenario.Scenario, arg string) ([]*scenario.Scenario, error) {
	services := service.Names(all.List)
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir():
		return fromDir(os.DirFS(arg), arg, ".")
	case err == nil || isYAML(arg) || errors.Is(err, fs.ErrPermission):
		return fromFile(arg)
	case slices.Contains(services, arg):
		return ofService(arg)
	}
	if s := meant(known, arg); s != nil {
		return []*scenario.Scenario{s}, nil
	}
	of, variant := cutLast(arg)
	if isYAML(of) || meant(known, of) != nil {
		list, err := loadOne(known, of)
		if err != nil {
			return nil, err
		}
		s, err := only(list[0], variant)
		return []*scenario.Scenario{s}, err
	}
	names := services
	for _, s := range known {
		names = append(names, s.Name, shortName(s.Name), itsService(s)+"/"+shortName(s.Name))
	}
	near := nearest.Word(arg, names)
	if nearOf := nearest.Word(of, names); near == "" && nearOf != "" && nearOf != of {
		near = nearOf + "/" + variant
	}
	if _, err := os.Stat(arg + ".yaml"); err == nil {
		near = arg + ".yaml"
	}
	if near != "" {
		return nil, fmt.Errorf("no scenario is called %q, and there is no such file: did you mean %s?", arg, near)
	}
	return nil, fmt.Errorf("no scenario is called %q, and there is no such file: \"gcsim list\" names them all", arg)
}

func fromFile(file string) ([]*scenario.Scenario, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	s, err := language.Parse(file, nameOf(file), data)
	if err != nil {
		return nil, err
	}
	return []*scenario.Scenario{s}, nil
}

// meant is the scenario that word means: by its number or its name, or by both, with its service before it or
// without; nil: none. The first service's comes first.
func meant(known []*scenario.Scenario, word string) *scenario.Scenario {
	for _, s := range known {
		number, name, _ := strings.Cut(s.Name, "-")
		word := strings.TrimPrefix(word, itsService(s)+"/")
		if word == s.Name || word == name || word == number || word == strings.TrimPrefix(number, "0") {
			return s
		}
	}
	return nil
}

// cutLast cuts word at its last slash; before is "" where there is none.
func cutLast(word string) (before, after string) {
	i := strings.LastIndexByte(word, '/')
	return word[:max(i, 0)], word[i+1:]
}

// sameNumber is all scenarios of the number with which arg begins; none where that is no number.
func sameNumber(known []*scenario.Scenario, arg string) (same []*scenario.Scenario) {
	word, _, _ := strings.Cut(arg, "/")
	if _, err := strconv.Atoi(word); err != nil {
		return nil
	}
	for _, s := range known {
		if meant([]*scenario.Scenario{s}, word) != nil {
			same = append(same, s)
		}
	}
	return same
}

func ids(list []*scenario.Scenario) (ids []string) {
	for _, s := range list {
		ids = append(ids, id(s))
	}
	return ids
}

// only is a scenario with one of its variants alone.
func only(s *scenario.Scenario, variant string) (*scenario.Scenario, error) {
	var names []string
	for _, v := range s.Variants {
		if v.Name == variant {
			one := *s
			one.Variants = []scenario.Variant{v}
			return &one, nil
		}
		names = append(names, v.Name)
	}
	return nil, fmt.Errorf("%s has no variant %q%s", called(s), variant, scenario.Hint(variant, names))
}

// fromDir reads all scenarios of a directory; in says where it is, for errors.
func fromDir(fsys fs.FS, in, dir string) (list []*scenario.Scenario, err error) {
	err = fail.Caught(func() {
		for _, e := range fail.Must(fs.ReadDir(fsys, dir)) {
			if !e.IsDir() && isYAML(e.Name()) {
				data := fail.Must(fs.ReadFile(fsys, path.Join(dir, e.Name())))
				list = append(list, fail.Must(language.Parse(path.Join(in, e.Name()), nameOf(e.Name()), data)))
			}
		}
		if len(list) == 0 {
			fail.If(fmt.Errorf("%s has no scenarios (*.yaml)", in))
		}
	})
	slices.SortFunc(list, func(a, b *scenario.Scenario) int { return strings.Compare(a.Name, b.Name) })
	return list, err
}

func isYAML(name string) bool {
	ext := filepath.Ext(name)
	return ext == ".yaml" || ext == ".yml"
}

func nameOf(file string) string {
	base := filepath.Base(file)
	return strings.TrimSuffix(base, filepath.Ext(base))
}
