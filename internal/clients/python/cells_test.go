package python_test

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/original/originaltest"
	"github.com/fencelab/fencelab/internal/clients/python"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/outside/stage"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/internal/service/etcd"
	"github.com/fencelab/fencelab/internal/service/redis"
	"github.com/fencelab/fencelab/internal/service/zookeeper"
	"github.com/fencelab/fencelab/internal/tools/golden"
	"github.com/fencelab/fencelab/internal/tools/need"
)

func TestMain(m *testing.M) {
	proctest.Play(lab.Roles(all.List)...)
	os.Exit(m.Run())
}

// libraries are those of the table.
var libraries = []struct {
	title, name, pinned string
	service             *service.Service
}{
	{"redis-py, `Lock`", "redis-py", "redis", redis.Service()},
	{"python-redis-lock, `Lock`", "python-redis-lock", "python-redis-lock", redis.Service()},
	{"pottery, `Redlock`, on one node", "pottery", "pottery", redis.Service()},
	{"kazoo, `Lock`", "kazoo", "kazoo", zookeeper.Service()},
	{"etcd3, `Lock`", "etcd3", "etcd3", etcd.Service()},
}

// TestCells: docs/libraries.md has what each library does in the stories of cells.py.
func TestCells(t *testing.T) {
	originaltest.Need(t, python.Name)
	if where, bring := zookeeper.Service().Found(); where == "" {
		need.Missing(t, "ZooKeeper", "to tell stories with kazoo", "go run ./cmd/"+bring)
	}
	facts := make([][][]string, len(libraries))
	var told sync.WaitGroup
	for i, l := range libraries {
		told.Go(func() { facts[i] = cells(t, l.name, l.service) })
	}
	told.Wait()
	if t.Failed() {
		return
	}
	page := new(strings.Builder)
	page.WriteString(read(t, "testdata/head.md"))
	for i, l := range libraries {
		fmt.Fprintf(page, "\n### %s, %s\n\n| | |\n|---|---|\n", l.title, version(t, l.pinned))
		for _, fact := range facts[i] {
			fmt.Fprintf(page, "| %s | %s |\n", fact[0], fact[1])
		}
		page.WriteString("\n" + read(t, "testdata/"+l.name+".md"))
	}
	page.WriteString("\n" + read(t, "testdata/tail.md"))
	golden.Check(t, "../../../docs/libraries.md", page.String())
}

// cells tells the stories with a library, and returns the facts.
func cells(t *testing.T, name string, of *service.Service) (facts [][]string) {
	world, err := setting.Complete(of.World, nil)
	if err != nil {
		t.Error(err)
		return nil
	}
	s, err := stage.Open(t.Context(), os.Args[0], of, world, nil, []string{"/taken"})
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return nil
	}
	defer s.Close()
	endpoints, err := s.Servers.Endpoints(t.Context(), setting.Defaults(of.Client))
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return nil
	}
	command := python.Program(name, "", "", nil).Command
	program := len(command) - 1
	command = append(command[:program], filepath.Join(filepath.Dir(command[program]), "cells.py"),
		strings.TrimSuffix(filepath.Base(command[program]), ".py"),
		url.Values{"by": {name}, "endpoints": {strings.Join(endpoints, ",")}, "ttl": {"3000000000"}, "timeout": {"20000000000"}, "suspended": {"ignored"}}.Encode())
	run := exec.CommandContext(t.Context(), command[0], command[1:]...)
	said := new(strings.Builder)
	run.Stderr = said
	out, err := run.Output()
	if err != nil {
		t.Errorf("%s: %v; it said:\n%s", name, err, said)
		return nil
	}
	for line := range strings.Lines(string(out)) {
		facts = append(facts, strings.SplitN(strings.TrimSpace(line), "\t", 2))
	}
	return slices.Clip(facts)
}

// version is the pinned version of a library.
func version(t *testing.T, library string) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(library) + `==(\S+)$`).FindStringSubmatch(read(t, "requirements.txt"))
	if m == nil {
		t.Fatalf("%s is not pinned", library)
	}
	return m[1]
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
