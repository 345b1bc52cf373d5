package python_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/original/originaltest"
	"github.com/fencelab/fencelab/internal/clients/python"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/internal/service/etcd"
	"github.com/fencelab/fencelab/internal/service/redis"
	"github.com/fencelab/fencelab/internal/service/zookeeper"
)

func TestMain(m *testing.M) { labtest.Services(all.List).Main(m, 8) }

// TestCells: docs/libraries-python.md has what each library does in the stories of package originaltest.
func TestCells(t *testing.T) {
	originaltest.Need(t, python.Name)
	libraries := []originaltest.Library{
		{Title: "redis-py, `Lock`", Name: "redis-py", Version: version(t, "redis"), Service: redis.Service()},
		{Title: "python-redis-lock, `Lock`", Name: "python-redis-lock", Version: version(t, "python-redis-lock"), Service: redis.Service()},
		{Title: "python-redis-lock, `Lock` with `auto_renewal`", Name: "python-redis-lock-renewed", Version: version(t, "python-redis-lock"), Service: redis.Service()},
		{Title: "pottery, `Redlock`, on one node", Name: "pottery", Version: version(t, "pottery"), Service: redis.Service()},
		{Title: "kazoo, `Lock`", Name: "kazoo", Version: version(t, "kazoo"), Service: zookeeper.Service(), Own: 1, Token: "none; the program can read the number of the transaction that made its key"},
		{Title: "etcd3, `Lock`", Name: "etcd3", Version: version(t, "etcd3"), Service: etcd.Service(), Own: 1, Token: "none; the program can read the create revision of its key"},
	}
	for i := range libraries {
		libraries[i].Language = python.Name
	}
	originaltest.Page(t, "../../../docs/libraries-python.md", libraries)
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
