package scenario_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/scenario"
)

// TestIssuerThatCannotBeAsked: a storage that is to ask for the last token needs a lock
// service that can be asked.
func TestIssuerThatCannotBeAsked(t *testing.T) {
	mute := scenario.Language{Services: slices.Clone(language.Services), Forms: language.Forms}
	mute.Services[0].Issuer = false
	data := `title: t
world: {storage: {bound: issuer}}
clients: {client1: {lock: /l}}
steps: [{client1: lock}]
variants: {only: {control: true, expect: {verdict: blocked}}}
`
	if _, err := language.Parse("s.yaml", "s", []byte(data)); err != nil {
		t.Error(err)
	}
	const want = `s.yaml:2:26: the storage cannot ask etcd for the last token`
	if _, err := mute.Parse("s.yaml", "s", []byte(data)); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestFairThatCannotBeJudged: whether grants come in the order of requests is known of
// a lock service that tells who queues.
func TestFairThatCannotBeJudged(t *testing.T) {
	mute := scenario.Language{Services: slices.Clone(language.Services), Forms: language.Forms}
	mute.Services[0].Unqueued = true
	data := `title: t
clients: {client1: {lock: /l}}
steps: [{client1: lock}]
variants: {only: {control: true, expect: {verdict: blocked, fair: true}}}
`
	if _, err := language.Parse("s.yaml", "s", []byte(data)); err != nil {
		t.Error(err)
	}
	const want = `s.yaml:4:67: whether etcd is fair cannot be judged: it does not tell who waits for a lock`
	if _, err := mute.Parse("s.yaml", "s", []byte(data)); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestNoNetworkToCut: of a lock service that clients reach without a network, there are no
// steps that cut one.
func TestNoNetworkToCut(t *testing.T) {
	local := scenario.Language{Services: slices.Clone(language.Services), Forms: language.Forms}
	local.Services[0].Local = true
	const want = "s.yaml:3:17: clients reach etcd without a network"
	for _, step := range []string{"partition client1 from etcd", "deafen client1 to etcd"} {
		data := `title: t
clients: {client1: {lock: /l}}
steps: [{gcsim: ` + step + `}]
variants: {only: {control: true, expect: {verdict: blocked}}}
`
		if _, err := language.Parse("s.yaml", "s", []byte(data)); err != nil {
			t.Error(err)
		}
		if _, err := local.Parse("s.yaml", "s", []byte(data)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
