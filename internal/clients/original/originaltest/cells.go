package originaltest

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fencelab/fencelab/internal/outside/stage"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/tools/golden"
)

// Library is a lock library in another language, as a page of the docs has it.
type Library struct {
	Title, Name, Version string // Name is the recipe's, without the language
	Service              *service.Service
	Command              []string // tells the stories of the table, with the library's settings as a further argument
}

// Page sees that a page of the docs has what each library does in the stories of the table. The texts around the tables
// are in the folder testdata: head.md, tail.md, and a file for each library.
func Page(t *testing.T, file string, libraries []Library) {
	t.Helper()
	facts := make([][][]string, len(libraries))
	var told sync.WaitGroup
	for i, l := range libraries {
		told.Go(func() { facts[i] = l.cells(t) })
	}
	told.Wait()
	if t.Failed() {
		return
	}
	page := new(strings.Builder)
	page.WriteString(read(t, "testdata/head.md"))
	for i, l := range libraries {
		fmt.Fprintf(page, "\n### %s, %s\n\n| | |\n|---|---|\n", l.Title, l.Version)
		for _, fact := range facts[i] {
			fmt.Fprintf(page, "| %s | %s |\n", fact[0], fact[1])
		}
		page.WriteString("\n" + read(t, "testdata/"+l.Name+".md"))
	}
	page.WriteString("\n" + read(t, "testdata/tail.md"))
	golden.Check(t, file, page.String())
}

// cells tells the stories with a library, and returns the facts.
func (l Library) cells(t *testing.T) (facts [][]string) {
	world, err := setting.Complete(l.Service.World, nil)
	if err != nil {
		t.Error(err)
		return nil
	}
	s, err := stage.Open(t.Context(), os.Args[0], l.Service, world, nil, []string{"/taken"})
	if err != nil {
		t.Errorf("%s: %v", l.Name, err)
		return nil
	}
	defer s.Close()
	endpoints, err := s.Servers.Endpoints(t.Context(), setting.Defaults(l.Service.Client))
	if err != nil {
		t.Errorf("%s: %v", l.Name, err)
		return nil
	}
	settings := url.Values{"by": {l.Name}, "endpoints": {strings.Join(endpoints, ",")}, "ttl": {"3000000000"}, "timeout": {"20000000000"}, "suspended": {"ignored"}}
	run := exec.CommandContext(t.Context(), l.Command[0], append(l.Command[1:], settings.Encode())...)
	said := new(strings.Builder)
	run.Stderr = said
	out, err := run.Output()
	if err != nil {
		t.Errorf("%s: %v; it said:\n%s", l.Name, err, said)
		return nil
	}
	for line := range strings.Lines(string(out)) {
		facts = append(facts, strings.SplitN(strings.TrimSpace(line), "\t", 2))
	}
	return slices.Clip(facts)
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
