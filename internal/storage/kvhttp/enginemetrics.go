package kvhttp

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

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
