// Package observeprom counts for Prometheus what becomes of locks and claims.
//
//	m := observeprom.New()
//	prometheus.MustRegister(m)
//	backend = lock.Observe(backend, m)
//	guard = fence.Watch(guard, m.Claim)
//
// The metrics, and what to make of them, are in docs/observe.md at the root of the repository.
// The label scope is the name of the lock for the first observe.MaxScopes of them, and
// (other) for the rest.
package observeprom

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/observe"
)

// Metrics is an observer and a collector. One is for any number of Backends and Guards.
type Metrics struct {
	scopes observe.Scopes

	waiting, held    *prometheus.GaugeVec
	attempts, tenure *prometheus.HistogramVec
	renewals, claims *prometheus.CounterVec
}

var (
	_ lock.Observer        = (*Metrics)(nil)
	_ prometheus.Collector = (*Metrics)(nil)
)

// New returns metrics in which nothing was counted.
func New() *Metrics {
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"scope"})
	}
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"scope", "result"})
	}
	seconds := func(name, help string) *prometheus.HistogramVec {
		buckets := prometheus.ExponentialBuckets(1e-3, 4, 10) // 1 ms to 262 s
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, []string{"scope", "result"})
	}
	return &Metrics{
		waiting:  gauge("fencelab_lock_waiting", "Calls that ask for the lock."),
		held:     gauge("fencelab_lock_held", "Tenures that hold the lock, as far as this process knows."),
		attempts: seconds("fencelab_lock_attempt_seconds", "How long attempts took, by result: granted, locked, cancelled, unknown or failed."),
		tenure:   seconds("fencelab_lock_tenure_seconds", "How long the lock was held, by how it ended: released, unknown, lost or cut_off."),
		renewals: counter("fencelab_lock_renewals_total", "Renewals by result: renewed or failed."),
		claims:   counter("fencelab_fence_claims_total", "Claims by judgement: admitted, stale, missing, invalid, ahead, duplicate or other."),
	}
}

// Observe implements lock.Observer.
func (m *Metrics) Observe(_ context.Context, e lock.Event) {
	scope, result := m.scopes.Name(e.Scope), observe.Result(e)
	switch e.Kind {
	case lock.Asked:
		m.waiting.WithLabelValues(scope).Inc()
		// An alert on an increase does not see the first of a series that begins with it.
		m.renewals.WithLabelValues(scope, "failed")
		m.tenure.WithLabelValues(scope, "lost")
		m.tenure.WithLabelValues(scope, "cut_off")
	case lock.Granted, lock.NotGranted:
		m.waiting.WithLabelValues(scope).Dec()
		m.attempts.WithLabelValues(scope, result).Observe(e.Took.Seconds())
		if e.Kind == lock.Granted {
			m.held.WithLabelValues(scope).Inc()
		}
	case lock.Renewed, lock.RenewalFailed:
		m.renewals.WithLabelValues(scope, result).Inc()
	case lock.Lost, lock.Released:
		m.held.WithLabelValues(scope).Dec()
		m.tenure.WithLabelValues(scope, result).Observe(e.Took.Seconds())
	}
}

// Claim is for fence.Watch, fence.Observe and fencehttp.Options.
func (m *Metrics) Claim(_ context.Context, c fence.Claim, refused error) {
	scope := m.scopes.Name(c.Scope)
	m.claims.WithLabelValues(scope, "stale") // as in Observe
	m.claims.WithLabelValues(scope, observe.Judgement(refused)).Inc()
}

func (m *Metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.waiting, m.held, m.attempts, m.tenure, m.renewals, m.claims}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, c := range m.all() {
		c.Describe(to)
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	for _, c := range m.all() {
		c.Collect(to)
	}
}
