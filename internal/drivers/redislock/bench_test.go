package redislock_test

import (
	"context"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/service/redis/redistest"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
)

// unheard is an observer that keeps nothing.
type unheard struct{}

func (unheard) Observe(context.Context, lock.Event) {}

// BenchmarkObserved compares a lock that is observed with one that is not, in turns, so that
// whatever else the machine does hits both. The metric of-plain is the time of the observed one
// as a multiple of the other's.
func BenchmarkObserved(b *testing.B) {
	client := connect(redistest.Real(b).Addr)
	defer client.Close()
	plain, err := redislock.New(client, time.Minute)
	if err != nil {
		b.Fatal(err)
	}
	turn := func(backend lock.Backend) time.Duration {
		start := time.Now()
		for range 100 {
			tenure, err := backend.TryLock(b.Context(), scope)
			if err != nil {
				b.Fatal(err)
			}
			if err := tenure.Unlock(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		return time.Since(start)
	}
	observed := lock.Observe(plain, unheard{})
	var tookPlain, tookObserved time.Duration
	for b.Loop() {
		tookPlain += turn(plain)
		tookObserved += turn(observed)
	}
	b.ReportMetric(float64(tookObserved)/float64(tookPlain), "of-plain")
	b.ReportMetric(float64(tookPlain.Microseconds())/float64(100*b.N), "plain-µs/lock")
	b.ReportMetric(0, "ns/op") // of a turn of both: means nothing
}
