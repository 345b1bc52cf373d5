package originaltest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/tools/golden"
)

// Library is a lock library, as a page of the docs has it.
type Library struct {
	Language             string // as package original names it
	Title, Name, Version string // Name is the recipe's, without the language
	Service              *service.Service
	Token                string         // what its clients show as a token, if they have one
	Asks                 bool           // it does not wait, or cannot be told to give up: its client asks again and again
	Own                  int            // requests that the client adds to those of the library for a lock and its unlock
	Connects             bool           // its client begins a connection for each transaction, so that its requests say nothing of the library
	Registries           bool           // its client has a registry for each tenure, so that no holder takes its lock again
	Measures             bool           // who waits measures the lease: an attempt without a wait does not take over what is over
	World                setting.Values // of the servers; the others have their defaults
}

// Page sees that a page of the docs has what each library does in the stories of the table. The texts around the tables
// are in the folder testdata: head.md, tail.md, and a file for each library. Where servers are missing the test is left out.
func Page(t *testing.T, file string, libraries []Library) {
	t.Helper()
	for _, l := range libraries {
		needs(t, "the servers of "+l.Service.Name, l.Service.Found)
	}
	facts := make([][][2]string, len(libraries))
	t.Run("stories", func(t *testing.T) {
		for i, l := range libraries {
			t.Run(l.Name, func(t *testing.T) {
				t.Parallel()
				facts[i] = l.tell(t)
			})
		}
	})
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

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
