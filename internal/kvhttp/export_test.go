package kvhttp

import (
	"net/http"

	"github.com/gorilla/mux"
	"github.com/prometheus/client_golang/prometheus"
)

// Routes are the paths, or the beginnings of paths, that a handler of NewHandler
// has.
func Routes(h http.Handler) (paths []string, err error) {
	err = h.(matcher).routes.Walk(func(r *mux.Route, _ *mux.Router, _ []*mux.Route) error {
		path, err := r.GetPathTemplate()
		paths = append(paths, path)
		return err
	})
	return paths, err
}

// Gatherer has what /metrics shows.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }
