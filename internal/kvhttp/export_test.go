package kvhttp

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
)

// Routes are the paths of a handler of NewHandler, as the document at /openapi.yaml
// names them.
func Routes(h http.Handler) (paths []string) {
	for _, r := range h.(*handler).routes {
		paths = append(paths, r.name())
	}
	return paths
}

// Gatherer has what /metrics shows.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }
