package kubernetes_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/kubernetes"
	"github.com/fencelab/fencelab/internal/service/kubernetes/kubeproc/kubetest"
)

func needs(t *testing.T) { t.Helper(); kubetest.Need(t) }

func TestStories(t *testing.T) {
	needs(t)
	t.Parallel()
	labtest.Tell(t, labtest.Stories(t, services[0]), lab.Options{Services: services[:1], Shared: labtest.Share(t)})
}

// TestWords: a scenario that cannot be is refused where it stands.
func TestWords(t *testing.T) {
	const story = "title: t\nworld: {kubernetes: {}}\nclients:\n  client1: {lock: %s}\n  client2: {lock: /a/b}\nsteps:\n  - client1: lock\n  - %s\nvariants:\n  all:\n    expect: {verdict: safe}\n"
	for _, c := range []struct{ lock, step, want string }{
		{"/a_b", "client1: unlock", `Kubernetes has no Lease called "a_b"`},
		{"/a.b", "client1: unlock", `the locks "/a/b" and "/a.b" are one Lease, a.b`},
		{"/lock", "gcsim: kill kubernetes2", "there is no kubernetes2"},
		{"/lock", "gcsim: delete lease of client2", "client2"},
		{"/lock", "client1: begin lock", "begin"},
	} {
		_, err := lab.Language(services[:1]).Parse("t.yaml", "t", fmt.Appendf(nil, story, c.lock, c.step))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: got %v, want an error that says %s", c.lock, c.step, err, c.want)
		}
	}
}

// TestNothingIsJoined: a Kubernetes that is there already has no account.
func TestNothingIsJoined(t *testing.T) {
	labtest.NotJoined(t, kubernetes.Service(), "127.0.0.1:6443", "gcsim starts both")
}
