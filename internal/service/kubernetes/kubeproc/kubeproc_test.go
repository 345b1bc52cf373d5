package kubeproc_test

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdcmd"
	"github.com/fencelab/fencelab/internal/service/kubernetes/kubeproc"
	"github.com/fencelab/fencelab/internal/service/kubernetes/kubeproc/kubetest"
)

func TestMain(m *testing.M) { proctest.Main(m, kubeproc.Command(), etcdcmd.Command()) }

// deadline is for what is sure to happen.
const deadline = 2 * time.Minute

// TestRestart: the API server that is started again has the objects that there were.
func TestRestart(t *testing.T) {
	kubetest.Need(t)
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	c, err := kubeproc.Start(ctx, proctest.Group(t))
	if err != nil {
		t.Fatal(err)
	}
	const namespace = "/api/v1/namespaces/kube-system"
	if err := kubeproc.Ask(ctx, http.MethodGet, c.API.Addr, namespace); err != nil {
		t.Error(err)
	}
	if err := c.API.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := kubeproc.Ask(ctx, http.MethodGet, c.API.Addr, namespace); err == nil {
		t.Error("it was killed, and answers")
	}
	if err := c.API.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	if err := kubeproc.Ask(ctx, http.MethodGet, c.API.Addr, namespace); err != nil {
		t.Error(err)
	}
}

// TestMissing: without the programs it is said what brings them.
func TestMissing(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	_, err := kubeproc.Start(t.Context(), proctest.Group(t))
	if want := "kubernetes is missing: gcsim services get kubernetes"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestProgram: go vet sees the program of clients, which is no package of this module. It would compile all of Kubernetes
// to see that of the API server.
func TestProgram(t *testing.T) {
	kubetest.Need(t)
	dir := t.TempDir()
	if err := kubeproc.Client.CopyTo(dir); err != nil {
		t.Fatal(err)
	}
	vet := exec.Command("go", "vet", ".")
	vet.Dir, vet.Env = dir, append(os.Environ(), "GOWORK=off")
	if out, err := vet.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
