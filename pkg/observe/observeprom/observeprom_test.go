package observeprom_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
	"github.com/fencelab/fencelab/pkg/observe/observeprom"
)

// series are all values as "NAME{LABELS} VALUE", in order; of a histogram how many, and their
// sum.
func series(t *testing.T, m *observeprom.Metrics) (all []string) {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	if err := r.Register(m); err != nil {
		t.Fatal(err)
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, one := range f.GetMetric() {
			labels := ""
			for _, l := range one.GetLabel() {
				labels += " " + l.GetValue()
			}
			value := fmt.Sprint(one.GetCounter().GetValue() + one.GetGauge().GetValue())
			if h := one.GetHistogram(); h != nil {
				value = fmt.Sprintf("%d, %vs", h.GetSampleCount(), h.GetSampleSum())
			}
			all = append(all, f.GetName()+labels+": "+value)
		}
	}
	return all
}

func want(t *testing.T, m *observeprom.Metrics, want ...string) {
	t.Helper()
	if got := series(t, m); !slices.Equal(got, want) {
		t.Errorf("there are\n%q, want\n%q", got, want)
	}
}

func TestLocks(t *testing.T) {
	m := observeprom.New()
	say := func(kind lock.EventKind, err error, took time.Duration) {
		m.Observe(t.Context(), lock.Event{Kind: kind, Scope: "/a", Err: err, Took: took})
	}
	say(lock.Asked, nil, 0)
	want(t, m,
		"fencelab_lock_renewals_total failed /a: 0",
		"fencelab_lock_tenure_seconds cut_off /a: 0, 0s",
		"fencelab_lock_tenure_seconds lost /a: 0, 0s",
		"fencelab_lock_waiting /a: 1")
	say(lock.Granted, nil, 2*time.Second)
	say(lock.Asked, nil, 0)
	say(lock.NotGranted, lock.ErrLocked, time.Second)
	say(lock.Renewed, nil, time.Second)
	say(lock.Renewed, nil, time.Second)
	say(lock.RenewalFailed, lock.ErrCutOff, time.Second)
	want(t, m,
		"fencelab_lock_attempt_seconds granted /a: 1, 2s",
		"fencelab_lock_attempt_seconds locked /a: 1, 1s",
		"fencelab_lock_held /a: 1",
		"fencelab_lock_renewals_total failed /a: 1",
		"fencelab_lock_renewals_total renewed /a: 2",
		"fencelab_lock_tenure_seconds cut_off /a: 0, 0s",
		"fencelab_lock_tenure_seconds lost /a: 0, 0s",
		"fencelab_lock_waiting /a: 0")
	say(lock.Lost, lock.ErrCutOff, 4*time.Second)
	say(lock.Asked, nil, 0)
	say(lock.Granted, nil, time.Second)
	say(lock.Released, nil, 8*time.Second)
	want(t, m,
		"fencelab_lock_attempt_seconds granted /a: 2, 3s",
		"fencelab_lock_attempt_seconds locked /a: 1, 1s",
		"fencelab_lock_held /a: 0",
		"fencelab_lock_renewals_total failed /a: 1",
		"fencelab_lock_renewals_total renewed /a: 2",
		"fencelab_lock_tenure_seconds cut_off /a: 1, 4s",
		"fencelab_lock_tenure_seconds lost /a: 0, 0s",
		"fencelab_lock_tenure_seconds released /a: 1, 8s",
		"fencelab_lock_waiting /a: 0")
}

func TestClaims(t *testing.T) {
	m := observeprom.New()
	g := fence.Watch(new(fence.Register), m.Claim)
	for _, token := range []fence.Token{34, 34, 33, 0} {
		_ = g.Do(t.Context(), fence.Claim{Scope: "/a", Token: token}, func(context.Context) error { return nil })
	}
	_ = g.Do(t.Context(), fence.Claim{Scope: "/b", Token: 34}, func(context.Context) error { return nil })
	want(t, m,
		"fencelab_fence_claims_total admitted /a: 2",
		"fencelab_fence_claims_total admitted /b: 1",
		"fencelab_fence_claims_total missing /a: 1",
		"fencelab_fence_claims_total stale /a: 1",
		"fencelab_fence_claims_total stale /b: 0")
}

func Example() {
	metrics := observeprom.New()
	prometheus.MustRegister(metrics)

	service := locktest.NewMemory(time.Second) // or etcdlock.New(client, 10*time.Second)
	backend := lock.Observe(service.Open().Backend, metrics)
	guard := fence.Watch(new(fence.Register), metrics.Claim)

	err := lock.Do(context.Background(), backend, "/orders", func(ctx context.Context, g lock.Grant) error {
		return guard.Do(ctx, g.Claim(), func(context.Context) error { return nil })
	})
	fmt.Println(err)
	// Output: <nil>
}
