package kvhttp

import (
	"net/http"

	"github.com/gorilla/mux"
	"github.com/prometheus/client_golang/prometheus"
)

// Routes are the paths of a handler of NewHandler, as the document at /openapi.yaml
// names them.
func Routes(h http.Handler) (paths []string) {
	_ = h.(*handler).router.Walk(func(r *mux.Route, _ *mux.Router, _ []*mux.Route) error {
		if name := r.GetName(); name != "" { // else it refuses other methods
			paths = append(paths, name)
		}
		return nil
	})
	return paths
}

// Gatherer has what /metrics shows.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }
