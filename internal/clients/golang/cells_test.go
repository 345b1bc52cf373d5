package golang_test

import (
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/golang"
	"github.com/fencelab/fencelab/internal/clients/original/originaltest"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/internal/service/etcd"
	"github.com/fencelab/fencelab/internal/service/redis"
)

func TestMain(m *testing.M) { labtest.Services(all.List).Main(m, 8) }

// TestCells: docs/libraries-go.md has what each library does in the stories of package originaltest.
func TestCells(t *testing.T) {
	originaltest.Need(t, golang.Name)
	libraries := []originaltest.Library{
		{Title: "redsync, `Mutex`, on one node", Name: "redsync", Version: version(t, "github.com/go-redsync/redsync/v4"), Service: redis.Service()},
		{Title: "bsm/redislock, `Lock`", Name: "bsm-redislock", Version: version(t, "github.com/bsm/redislock"), Service: redis.Service()},
		{Title: "etcd's package concurrency, `Election`", Name: "election", Version: version(t, "go.etcd.io/etcd/client/v3"), Service: etcd.Service(), Own: 1, Token: "the revision of its key"},
	}
	for i := range libraries {
		libraries[i].Language = golang.Name
	}
	originaltest.Page(t, "../../../docs/libraries-go.md", libraries)
}

// version is the pinned version of a library.
func version(t *testing.T, library string) string {
	t.Helper()
	for _, m := range requirement.FindAllSubmatch(read(t, "peer/pinned.mod"), -1) {
		if string(m[1]) == library {
			return strings.TrimPrefix(string(m[2]), "v")
		}
	}
	t.Fatalf("%s is not pinned", library)
	return ""
}
