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
