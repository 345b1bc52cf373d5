package kvhttp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/fencelab/fencelab/internal/storage/access"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// Metrics counts for Prometheus what the storage does.
type Metrics struct {
	http.Handler
	registry *prometheus.Registry

	requests *prometheus.CounterVec
	seconds  map[string]prometheus.Observer // by method
	stale    *prometheus.CounterVec
	limited  *prometheus.CounterVec
	commits  *prometheus.HistogramVec
	syncs    prometheus.Histogram
	shared   prometheus.Histogram
	conns    prometheus.Gauge

	mu     sync.Mutex
	scopes map[string]bool // that have a series of their own in stale
}

// methodOther names all methods that a route does not have: a client must not be
// able to make up label values.
const methodOther = "other"

// metricRequests counts requests by route, method and outcome.
const metricRequests = "fencelab_storage_requests_total"

// maxScopeSeries is how many scopes have their stale requests counted under their own name; those of the
// others are counted together, as scope otherScopes. A series costs memory here and in Prometheus.
const (
	maxScopeSeries = 100
	otherScopes    = "(other)"
)

// NewMetrics makes metrics that no request was counted in.
func NewMetrics() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), seconds: make(map[string]prometheus.Observer), scopes: make(map[string]bool)}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return add(m, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels))
	}
	latencies := func(name, help string) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(50e-6, 2, 18)} // 50 µs to 6.5 s
	}
	m.requests = counter(metricRequests, "Requests by route, method and outcome: ok, duplicate, not_found, denied, limited, error, "+
		"or why their claim was refused: stale, missing, invalid, ahead.", "route", "method", "outcome")
	m.stale = counter("fencelab_storage_stale_total", "Requests refused as stale, by scope: "+
		"each is a holder that had lost its lock and did not know. Of the first 100 scopes; the others are counted as (other).", "scope")
	m.limited = counter("fencelab_storage_limited_total", "Requests and connections refused for a limit, by limit.", "limit")
	m.commits = add(m, prometheus.NewHistogramVec(latencies("fencelab_storage_commit_seconds",
		"How long the engine's transactions took, by result: ok or error."), []string{"result"}))
	m.syncs = add(m, prometheus.NewHistogram(latencies("fencelab_storage_fsync_seconds",
		"How long of each transaction went into writing its pages and syncing them to the disk (engine bolt).")))
	m.shared = add(m, prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "fencelab_storage_commit_operations", Buckets: prometheus.ExponentialBuckets(1, 2, 11),
		Help: "How many operations shared a transaction.",
	}))
	m.conns = add(m, prometheus.NewGauge(prometheus.GaugeOpts{Name: "fencelab_storage_connections", Help: "Connections that are open."}))
	seconds := add(m, prometheus.NewHistogramVec(latencies("fencelab_storage_request_seconds",
		"How long requests took, from their header to their answer, by method."), []string{"method"}))
	add(m, collectors.NewGoCollector())
	add(m, collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	// An engine that fails takes its own series away, not those that tell of it.
	m.Handler = newScrapes(promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, Registry: m.registry}))
	// All series are there from the beginning, but those of scopes: an alert on an
	// increase does not see the first of a series that begins with it.
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPost, http.MethodDelete, methodOther} {
		m.seconds[method] = seconds.WithLabelValues(method)
	}
	for limit := range limitStatus {
		m.limited.WithLabelValues(limit)
	}
	for _, result := range []string{outcomeOK, outcomeError} {
		m.commits.WithLabelValues(result)
	}
	return m
}

// add has m show what c collects.
func add[C prometheus.Collector](m *Metrics, c C) C {
	m.registry.MustRegister(c)
	return c
}

// route makes the counters of a route, which has methods. They are looked up once: to
// look them up in each request would take several times as long as to count.
func (m *Metrics) route(name string, methods []string) map[string]map[string]prometheus.Counter {
	counts := make(map[string]map[string]prometheus.Counter)
	for _, method := range append(slices.Clone(methods), methodOther) {
		counts[method] = make(map[string]prometheus.Counter)
		for _, outcome := range outcomes {
			counts[method][outcome] = m.requests.WithLabelValues(name, method, outcome)
		}
	}
	return counts
}

// Committed counts a transaction. Engines call it by kv.Options.Committed.
func (m *Metrics) Committed(c kv.Commit) {
	result := outcomeOK
	if c.Err != nil {
		result = outcomeError
	}
	m.commits.WithLabelValues(result).Observe(c.Took.Seconds())
	if c.Sync > 0 {
		m.syncs.Observe(c.Sync.Seconds())
	}
	m.shared.Observe(float64(c.Operations))
}

func (h *handler) serveMetrics(c *call) error {
	if h.Metrics == nil {
		return &httpError{http.StatusNotFound, errors.New("no metrics are kept")}
	}
	if err := c.who.May(access.Observe, ""); err != nil {
		return err
	}
	h.Metrics.ServeHTTP(c.w, c.r)
	return nil
}

// Certificate shows when the certificate ends that the storage serves with now.
func (m *Metrics) Certificate(notAfter func() time.Time) {
	add(m, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "fencelab_storage_certificate_expiry_timestamp_seconds",
		Help: "When the server's certificate ends, in seconds since 1970.",
	}, func() float64 { return float64(notAfter().Unix()) }))
}

func (m *Metrics) count(at *route, method, outcome string, err error, took time.Duration) {
	if at.counts[method] == nil {
		method = methodOther
	}
	at.counts[method][outcome].Inc()
	m.seconds[method].Observe(took.Seconds())
	if err == nil {
		return
	}
	if over, ok := errors.AsType[*kv.LimitError](err); ok {
		m.limited.WithLabelValues(over.Limit).Inc()
	}
	if stale, ok := errors.AsType[*fence.StaleError](err); ok {
		m.stale.WithLabelValues(m.series(stale.Scope)).Inc()
	}
}

// series is the label of a scope. A scope may be any bytes, a label only UTF-8.
func (m *Metrics) series(scope string) string {
	scope = strings.ToValidUTF8(scope, "\uFFFD")
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

// What became of a request, beside the reasons of a refusal.
const (
	outcomeOK        = "ok"
	outcomeDuplicate = "duplicate"
	outcomeNotFound  = "not_found"
	outcomeDenied    = "denied"
	outcomeLimited   = "limited"
	outcomeError     = "error"
)

// outcomes are all that outcome returns.
var outcomes = []string{
	outcomeOK, outcomeDuplicate, outcomeNotFound, outcomeDenied, outcomeLimited, outcomeError,
	string(fencehttp.ReasonStale), string(fencehttp.ReasonMissing), string(fencehttp.ReasonInvalid), string(fencehttp.ReasonAhead),
}

func outcome(err error) string {
	if err == nil {
		return outcomeOK
	}
	if reason := fencehttp.ReasonOf(err); reason != "" {
		return string(reason)
	}
	_, outcome := kindOf(err)
	return outcome
}

// engineMetrics is a prometheus.Collector of what is asked whenever the metrics are read: what the engine holds, and
// whether each thing that the storage needs is there.
type engineMetrics struct{ *handler }

var (
	keysDesc  = prometheus.NewDesc("fencelab_storage_keys", "Keys that have a value.", nil, nil)
	bytesDesc = prometheus.NewDesc("fencelab_storage_bytes", "Bytes of all keys and values.", nil, nil)
	marksDesc = prometheus.NewDesc("fencelab_storage_marks", "Scopes that have a mark of their own.", nil, nil)
	diskDesc  = prometheus.NewDesc("fencelab_storage_disk_bytes", "Bytes of the engine's file; 0 where it has none.", nil, nil)
	readyDesc = prometheus.NewDesc("fencelab_storage_ready", "Whether what the storage needs is there, as /readyz says it: 1 or 0, by check.", []string{"check"}, nil)
)

func (engineMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{keysDesc, bytesDesc, marksDesc, diskDesc, readyDesc} {
		ch <- desc
	}
}

// statsTimeout is how long an engine may take to tell what it holds.
const statsTimeout = 5 * time.Second

func (m engineMetrics) Collect(ch chan<- prometheus.Metric) {
	m.ask(context.Background(), func(check string, waits error) {
		value := 1.0
		if waits != nil {
			value = 0
		}
		ch <- prometheus.MustNewConstMetric(readyDesc, prometheus.GaugeValue, value, check)
	})
	ctx, cancel := context.WithTimeout(context.Background(), statsTimeout)
	defer cancel()
	n, err := m.engine.Stats(ctx)
	for desc, value := range map[*prometheus.Desc]int64{keysDesc: n.Keys, bytesDesc: n.Bytes, marksDesc: n.Marks, diskDesc: n.Disk} {
		switch {
		case err != nil:
			ch <- prometheus.NewInvalidMetric(desc, err)
		case value >= 0: // else it is not known
			ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value))
		}
	}
}

// scrapes renders what many ask for at once: one rendering at a time, for all who wait for
// it, and after each a rest. So those who ask again and again leave the processors to others.
type scrapes struct {
	render http.Handler

	mu   sync.Mutex
	next map[string]*rendering // by what its form depends on: those that have not begun

	one    chan struct{} // has room for the one that is under way, which guards rested
	rested time.Time
}

// scrapeRest is how long the rest is, in times of what the rendering took.
const scrapeRest = 4

func newScrapes(render http.Handler) *scrapes {
	return &scrapes{render: render, next: make(map[string]*rendering), one: make(chan struct{}, 1)}
}

// rendering is an answer, which is written to it as to an http.ResponseWriter. It has all when done is closed; without a status it failed.
type rendering struct {
	header http.Header
	status int
	body   bytes.Buffer
	done   chan struct{}
}

func (r *rendering) Header() http.Header         { return r.header }
func (r *rendering) WriteHeader(status int)      { r.status = status }
func (r *rendering) Write(b []byte) (int, error) { return r.body.Write(b) }

// ServeHTTP answers by a rendering that began after the request had come.
func (s *scrapes) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	form := strings.Join(slices.Concat(req.Header["Accept"], req.Header["Accept-Encoding"]), "\n")
	s.mu.Lock()
	r, joins := s.next[form]
	if !joins {
		r = &rendering{header: make(http.Header), done: make(chan struct{})}
		s.next[form] = r
	}
	s.mu.Unlock()
	if !joins {
		s.make(r, form, req)
	}
	<-r.done
	maps.Copy(w.Header(), r.header)
	w.WriteHeader(cmp.Or(r.status, http.StatusInternalServerError))
	_, _ = w.Write(r.body.Bytes()) // a client that has left misses nothing
}

func (s *scrapes) make(r *rendering, form string, req *http.Request) {
	defer close(r.done) // after a panic, too
	s.one <- struct{}{}
	defer func() { <-s.one }()
	time.Sleep(time.Until(s.rested))
	s.mu.Lock()
	delete(s.next, form)
	s.mu.Unlock()
	begun := time.Now()
	s.render.ServeHTTP(r, req)
	r.status = cmp.Or(r.status, http.StatusOK)
	now := time.Now()
	s.rested = now.Add(scrapeRest * now.Sub(begun))
}

// The attributes of a request's span. Numbers are decimal strings, as in the protocol.
const (
	AttributeScope   = "fencing.scope"
	AttributeToken   = "fencing.token"
	AttributeMark    = "fencing.mark"    // of a stale request: the highest token admitted
	AttributeOutcome = "fencing.outcome" // as in metricRequests
)

// trace says in the request's span, where there is one, what was asked for and what became of it.
func (c *call) trace(outcome string, err error) {
	span := trace.SpanFromContext(c.r.Context())
	if !span.IsRecording() {
		return
	}
	// The span is named by it: a key in its name would make as many names as keys.
	if name := c.route.name(); name != noRoute {
		c.r.Pattern = name
	}
	set := func(key, value string) {
		if value != "" && value != "0" {
			span.SetAttributes(attribute.String(key, strings.ToValidUTF8(value, "\uFFFD")))
		}
	}
	set("http.route", c.r.Pattern)
	set(AttributeScope, c.claim.Scope)
	set(AttributeToken, c.claim.Token.String())
	set(AttributeOutcome, outcome)
	if err != nil {
		set(AttributeMark, newProblem(err).Mark.String())
	}
}

// traced has log lines name the trace that they belong to, if any.
func traced(ctx context.Context, log *slog.Logger) *slog.Logger {
	if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
		return log.With("trace", span.TraceID().String())
	}
	return log
}
