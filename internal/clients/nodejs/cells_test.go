package nodejs_test

import (
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/nodejs"
	"github.com/fencelab/fencelab/internal/clients/original/originaltest"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/internal/service/etcd"
	"github.com/fencelab/fencelab/internal/service/redis"
)

func TestMain(m *testing.M) { labtest.Services(all.List).Main(m, 8) }

// TestCells: docs/libraries-node.md has what each library does in the stories of package originaltest.
func TestCells(t *testing.T) {
	originaltest.Need(t, nodejs.Name)
	libraries := []originaltest.Library{
		{Title: "redlock, `acquire`, on one node", Name: "redlock", Version: version(t, "redlock"), Service: redis.Service(), Asks: true},
		{Title: "redlock, `acquire`, on one node", Name: "redlock-4", Version: version(t, "redlock-4"), Service: redis.Service(), Asks: true},
		{Title: "@sesamecare-oss/redlock, `acquire`, on one node", Name: "sesamecare-redlock", Version: version(t, "@sesamecare-oss/redlock"), Service: redis.Service(), Asks: true},
		{Title: "redis-semaphore, `Mutex`", Name: "redis-semaphore", Version: version(t, "redis-semaphore"), Service: redis.Service(), Own: 1},
		{Title: "etcd3, `Lock`", Name: "etcd3", Version: version(t, "etcd3"), Service: etcd.Service(), Asks: true, Own: 1, Token: "none; the program can read the create revision of its key"},
	}
	for i := range libraries {
		libraries[i].Language = nodejs.Name
	}
	originaltest.Page(t, "../../../docs/libraries-node.md", libraries)
}

// version is the pinned version of a library.
func version(t *testing.T, library string) string {
	t.Helper()
	of := wanted(t)[library]
	if of == "" {
		t.Fatalf("%s is not pinned", library)
	}
	return of[strings.LastIndex(of, "@")+1:] // an older version has a name of its own here: npm:NAME@VERSION
}
