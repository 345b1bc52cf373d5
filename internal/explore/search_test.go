package explore

import (
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/explore/model"
)

func TestPauses(t *testing.T) {
	client := model.Client{Look: model.LookBegin, Begins: true, Unqueued: true}
	for name, c := range map[string]struct {
		clients int
		set     func(w *model.Settings)
		depth   int
	}{
		"unfenced": {2, func(w *model.Settings) { w.Fence = model.FenceOff }, 12},
		"fenced":   {2, func(w *model.Settings) {}, 14},
		"lease IDs": {2, func(w *model.Settings) {
			for i := range w.Clients {
				w.Clients[i].Token = model.TokenUnordered
			}
			w.Clients[0].High = true
		}, 14},
		"three": {3, func(w *model.Settings) {}, 14},
		"three queue": {3, func(w *model.Settings) {
			for i := range w.Clients {
				w.Clients[i].Unqueued = false
			}
		}, 12},
		"mixed": {3, func(w *model.Settings) {
			w.Faults = 0
			for i := range w.Clients {
				w.Clients[i].Unqueued = false
			}
			w.Clients[1].Token = model.TokenLater
		}, 12},
	} {
		w := &model.Settings{Keys: 1, Queue: true, Fence: model.FenceOn, Faults: model.Pause}
		for i := range c.clients {
			client.Session = i
			w.Clients = append(w.Clients, client)
		}
		c.set(w)
		began := time.Now()
		f := Search(t.Context(), w, Bounds{Depth: c.depth}, func(Found) {})
		names := model.Names{Service: "etcd", Clients: []string{"client1", "client2", "client3"}, Keys: []string{"key0"}}
		var lines []string
		for n, s := range f.Path {
			lines = append(lines, names.Text(s, n))
		}
		t.Logf("%s: harm %d in %d states, depth %d, whole %t, %v\n  %s", name, f.Harm, f.States, f.Depth, f.Whole, time.Since(began), strings.Join(lines, "\n  "))
	}
}
