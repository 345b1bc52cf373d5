package kvhttp

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/fencelab/fencelab/internal/access"
	"github.com/fencelab/fencelab/internal/kv"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// Metrics counts for Prometheus what the storage does.
type Metrics struct {
	http.Handler
	registry *prometheus.Registry

	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	stale    *prometheus.CounterVec
	limited  *prometheus.CounterVec
	commits  *prometheus.HistogramVec
	syncs    prometheus.Histogram
	shared   prometheus.Histogram
	conns    prometheus.Gauge

	mu     sync.Mutex
	scopes map[string]bool // that have a series of their own in stale
}

// MetricRequests counts requests by method and outcome: ok, duplicate,
// not_found, stale, missing, invalid, ahead, denied, limited or error.
const MetricRequests = "fencelab_storage_requests_total"

// maxScopeSeries is how many scopes have their stale requests counted under their
// own name; those of the others are counted together, as scope otherScopes. A
// series costs memory here and in Prometheus.
const (
	maxScopeSeries = 100
	otherScopes    = "(other)"
)

// NewMetrics makes metrics that no request was counted in.
func NewMetrics() *Metrics {
	latencies := prometheus.ExponentialBuckets(50e-6, 2, 18) // 50 µs to 6.5 s
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: MetricRequests,
			Help: "Requests by method and outcome: ok, duplicate, not_found, denied, limited, error, or why their claim was refused: stale, missing, invalid, ahead.",
		}, []string{"method", "outcome"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "fencelab_storage_request_seconds", Buckets: latencies,
			Help: "How long requests took, from their header to their answer, by method.",
		}, []string{"method"}),
		stale: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fencelab_storage_stale_total",
			Help: "Requests refused as stale, by scope: each is a holder that had lost its lock and did not know. Of the first 100 scopes; the others are counted as (other).",
		}, []string{"scope"}),
		limited: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fencelab_storage_limited_total",
			Help: "Requests and connections refused for a limit, by limit.",
		}, []string{"limit"}),
		commits: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "fencelab_storage_commit_seconds", Buckets: latencies,
			Help: "How long the engine's transactions took, by result: ok or error.",
		}, []string{"result"}),
		syncs: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "fencelab_storage_fsync_seconds", Buckets: latencies,
			Help: "How long of each transaction went into writing its pages and syncing them to the disk (engine bolt).",
		}),
		shared: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "fencelab_storage_commit_operations", Buckets: prometheus.ExponentialBuckets(1, 2, 11),
			Help: "How many operations shared a transaction.",
		}),
		conns: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fencelab_storage_connections", Help: "Connections that are open.",
		}),
		scopes: make(map[string]bool),
	}
	m.registry = prometheus.NewRegistry()
	m.registry.MustRegister(m.requests, m.seconds, m.stale, m.limited, m.commits, m.syncs, m.shared, m.conns,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.Handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
	for _, limit := range limits() { // a counter that is not there cannot be alerted on
		m.limited.WithLabelValues(limit)
	}
	return m
}

// Committed has the form of kv.Options.Committed.
func (m *Metrics) Committed(c kv.Commit) {
	result := "ok"
	if c.Err != nil {
		result = "error"
	}
	m.commits.WithLabelValues(result).Observe(c.Took.Seconds())
	if c.Sync > 0 {
		m.syncs.Observe(c.Sync.Seconds())
	}
	m.shared.Observe(float64(c.Operations))
}

func (h *handler) serveMetrics(c *call) error {
	if err := c.allow(http.MethodGet, http.MethodHead); err != nil {
		return err
	}
	if h.Metrics == nil {
		return &httpError{http.StatusNotFound, errors.New("no metrics are kept")}
	}
	if err := c.who.May(access.Observe, ""); err != nil {
		return err
	}
	h.Metrics.ServeHTTP(c.w, c.r)
	return nil
}

func (m *Metrics) count(method string, err error, took time.Duration) {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPost, http.MethodDelete:
	default: // a client must not be able to make up label values
		method = "other"
	}
	m.requests.WithLabelValues(method, outcome(err)).Inc()
	m.seconds.WithLabelValues(method).Observe(took.Seconds())
	if err == nil {
		return
	}
	var over *kv.LimitError
	if errors.As(err, &over) {
		m.limited.WithLabelValues(over.Limit).Inc()
	}
	var stale *fence.StaleError
	if errors.As(err, &stale) {
		m.stale.WithLabelValues(m.series(stale.Scope)).Inc()
	}
}

// series is the label of a scope.
func (m *Metrics) series(scope string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.scopes[scope] {
		if len(m.scopes) >= maxScopeSeries {
			return otherScopes
		}
		m.scopes[scope] = true
	}
	return scope
}

func outcome(err error) string {
	var over *kv.LimitError
	switch reason := fencehttp.ReasonOf(err); {
	case err == nil:
		return "ok"
	case reason != "":
		return string(reason)
	case errors.Is(err, fence.ErrDuplicate):
		return "duplicate"
	case errors.Is(err, kv.ErrNotFound):
		return "not_found"
	case errors.Is(err, access.ErrUnauthenticated), errors.Is(err, access.ErrForbidden):
		return "denied"
	case errors.As(err, &over):
		return "limited"
	}
	return "error"
}

// watch has the engine asked for what it holds whenever the metrics are read.
func (m *Metrics) watch(e kv.Engine) {
	m.registry.MustRegister(&stats{e})
}

// stats shows an engine's Stats to Prometheus.
type stats struct{ engine kv.Engine }

var (
	keysDesc  = prometheus.NewDesc("fencelab_storage_keys", "Keys that have a value.", nil, nil)
	bytesDesc = prometheus.NewDesc("fencelab_storage_bytes", "Bytes of all keys and values.", nil, nil)
	marksDesc = prometheus.NewDesc("fencelab_storage_marks", "Scopes that have a mark of their own.", nil, nil)
	diskDesc  = prometheus.NewDesc("fencelab_storage_disk_bytes", "Bytes of the engine's file; 0 where it has none.", nil, nil)
)

// Describe implements prometheus.Collector.
func (s *stats) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(s, ch) }

// statsTimeout is how long an engine may take to tell what it holds.
const statsTimeout = 5 * time.Second

// Collect implements prometheus.Collector.
func (s *stats) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), statsTimeout)
	defer cancel()
	n, err := s.engine.Stats(ctx)
	for desc, value := range map[*prometheus.Desc]int64{keysDesc: n.Keys, bytesDesc: n.Bytes, marksDesc: n.Marks, diskDesc: n.Disk} {
		if err != nil {
			ch <- prometheus.NewInvalidMetric(desc, err)
			continue
		}
		if value < 0 {
			continue // not known
		}
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value))
	}
}
