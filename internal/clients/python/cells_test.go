package python_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/original/originaltest"
	"github.com/fencelab/fencelab/internal/clients/python"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/internal/service/etcd"
	"github.com/fencelab/fencelab/internal/service/redis"
	"github.com/fencelab/fencelab/internal/service/zookeeper"
	"github.com/fencelab/fencelab/internal/tools/need"
)

func TestMain(m *testing.M) { labtest.Services(all.List).Main(m, 1) }

// TestCells: docs/libraries.md has what each library does in the stories of cells.py.
func TestCells(t *testing.T) {
	originaltest.Need(t, python.Name)
	if where, bring := zookeeper.Service().Found(); where == "" {
		need.Missing(t, "ZooKeeper", "to tell stories with kazoo", "go run ./cmd/"+bring)
	}
	libraries := []originaltest.Library{
		{Title: "redis-py, `Lock`", Name: "redis-py", Version: version(t, "redis"), Service: redis.Service()},
		{Title: "python-redis-lock, `Lock`", Name: "python-redis-lock", Version: version(t, "python-redis-lock"), Service: redis.Service()},
		{Title: "pottery, `Redlock`, on one node", Name: "pottery", Version: version(t, "pottery"), Service: redis.Service()},
		{Title: "kazoo, `Lock`", Name: "kazoo", Version: version(t, "kazoo"), Service: zookeeper.Service()},
		{Title: "etcd3, `Lock`", Name: "etcd3", Version: version(t, "etcd3"), Service: etcd.Service()},
	}
	for i, l := range libraries {
		command := python.Program(l.Name, "", "", nil).Command
		program := len(command) - 1
		libraries[i].Command = append(command[:program], filepath.Join(filepath.Dir(command[program]), "cells.py"),
			strings.TrimSuffix(filepath.Base(command[program]), ".py"))
	}
	originaltest.Page(t, "../../../docs/libraries.md", libraries)
}

// version is the pinned version of a library.
func version(t *testing.T, library string) string {
	t.Helper()
	pinned, err := os.ReadFile("requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(library) + `==(\S+)$`).FindSubmatch(pinned)
	if m == nil {
		t.Fatalf("%s is not pinned", library)
	}
	return string(m[1])
}
