package kv

import (
	"errors"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// Metrics counts requests for Prometheus.
type Metrics struct {
	http.Handler
	requests *prometheus.CounterVec
}

// MetricRequests counts requests by method and outcome: ok, duplicate,
// not_found, stale, missing, invalid, ahead or error.
const MetricRequests = "fencelab_storage_requests_total"

// NewMetrics makes metrics that no request was counted in.
func NewMetrics() *Metrics {
	m := &Metrics{requests: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: MetricRequests,
		Help: "Requests by method and outcome: ok, duplicate, not_found, error, or why they were refused: stale, missing, invalid, ahead.",
	}, []string{"method", "outcome"})}
	reg := prometheus.NewRegistry()
	reg.MustRegister(m.requests)
	m.Handler = promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
	return m
}

func (m *Metrics) count(method string, err error) {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPost, http.MethodDelete:
	default: // a client must not be able to make up label values
		method = "other"
	}
	m.requests.WithLabelValues(method, outcome(err)).Inc()
}

func outcome(err error) string {
	switch reason := fencehttp.ReasonOf(err); {
	case err == nil:
		return "ok"
	case reason != "":
		return string(reason)
	case errors.Is(err, fence.ErrDuplicate):
		return "duplicate"
	case errors.Is(err, ErrNotFound):
		return "not_found"
	}
	return "error"
}
