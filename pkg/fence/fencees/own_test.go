package fencees_test

import (
	"strings"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencees"
)

// TestRefuses: what is no address and no index.
func TestRefuses(t *testing.T) {
	for _, c := range []struct{ address, index, want string }{
		{"127.0.0.1:9200", "orders", "fencees: the address is none"},
		{"http://127.0.0.1:9200", "Orders", `fencees: the index "Orders": want`},
	} {
		if _, err := fencees.New(c.address, c.index); err == nil || !strings.Contains(err.Error(), c.want) || fence.OutcomeOf(err) != fence.Definite {
			t.Errorf("%s, %s: %v", c.address, c.index, err)
		}
	}
}
