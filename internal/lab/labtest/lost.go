package labtest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/platform/network/networktest"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
)

// LostAnswers has each recipe in Go of a service lose the answer to its grant and to its unlock, by a network before the
// server. It wants that a client finds out that it has the lock, and does not know what became of the unlock, after which
// the lock is free.
func LostAnswers(t *testing.T, of *service.Service, net *networktest.Lossy) {
	t.Helper()
	by, _ := setting.Find(of.Client, service.By)
	for _, recipe := range by.Of {
		if strings.HasPrefix(recipe, java.Prefix) {
			continue
		}
		settings := setting.Defaults(slices.Concat(setting.Client, of.Client))
		settings[service.By], settings[setting.TTL] = recipe, "1m"
		c, err := of.Dial(service.Options{Endpoints: []string{net.Listener.Addr().String()}, Settings: settings})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.Background())
		for range 2 {
			net.Loses.Store(true)
			held, err := c.TryLock(t.Context(), "/"+recipe, "")
			if err != nil || net.Loses.Load() {
				t.Fatalf("%s: with the answer lost (%v) it gets %v", recipe, !net.Loses.Load(), err)
			}
			net.Loses.Store(true)
			if err := held.Unlock(t.Context()); fence.OutcomeOf(err) != fence.Unknown {
				t.Errorf("%s: an unlock without an answer says %v", recipe, err)
			}
		}
	}
}
