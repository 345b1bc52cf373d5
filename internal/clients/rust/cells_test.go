package rust_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/original/originaltest"
	"github.com/fencelab/fencelab/internal/clients/rust"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/internal/service/etcd"
	"github.com/fencelab/fencelab/internal/service/redis"
)

func TestMain(m *testing.M) { labtest.Services(all.List).Main(m, 8) }

// TestCells: docs/libraries-rust.md has what each library does in the stories of package originaltest.
func TestCells(t *testing.T) {
	originaltest.Need(t, rust.Name)
	libraries := []originaltest.Library{
		{Title: "rslock, `LockManager`, on one node", Name: "rslock", Version: version(t, "rslock"), Service: redis.Service()},
		{Title: "etcd-client, `lock`", Name: "etcd-client", Version: version(t, "etcd-client"), Service: etcd.Service(), Own: 2, Token: "none; the program can read the create revision of its key"},
	}
	for i := range libraries {
		libraries[i].Language = rust.Name
	}
	originaltest.Page(t, "../../../docs/libraries-rust.md", libraries)
}

// version is the pinned version of a library.
func version(t *testing.T, library string) string {
	t.Helper()
	pinned, err := os.ReadFile("peer/Cargo.toml")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(library) + ` = .*"=([0-9.]+)"`).FindSubmatch(pinned)
	if m == nil {
		t.Fatalf("%s is not pinned", library)
	}
	return string(m[1])
}
