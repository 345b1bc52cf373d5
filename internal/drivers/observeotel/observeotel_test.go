package observeotel_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	nooptrace "go.opentelemetry.io/otel/trace/noop"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/observe/observeotel"
)

const scope = "/a"

var grant = lock.Grant{Scope: scope, Owner: "me", Token: 7}

// claims shows a Guard one claim that it admits, and one that is stale.
func claims(ctx context.Context, o *observeotel.Observer) {
	g := fence.Watch(new(fence.Register), o.Claim)
	for _, token := range []fence.Token{34, 33} {
		_ = g.Do(ctx, fence.Claim{Scope: scope, Token: token}, func(context.Context) error { return nil })
	}
}

func TestMetrics(t *testing.T) {
	reader := metric.NewManualReader()
	o, err := observeotel.New(metric.NewMeterProvider(metric.WithReader(reader)).Meter("test"), nooptrace.Tracer{})
	if err != nil {
		t.Fatal(err)
	}
	say := func(kind lock.EventKind, err error, took time.Duration) {
		o.Observe(t.Context(), lock.Event{Kind: kind, Scope: scope, Err: err, Took: took})
	}
	say(lock.Asked, nil, 0)
	say(lock.Asked, nil, 0)
	say(lock.Asked, nil, 0)
	say(lock.Granted, nil, 2*time.Second)
	say(lock.NotGranted, lock.ErrLocked, time.Second)
	say(lock.Renewed, nil, time.Second)
	say(lock.RenewalFailed, lock.ErrCutOff, time.Second)
	want := []string{
		"fencelab.fence.claims admitted /a: 1",
		"fencelab.fence.claims stale /a: 1",
		"fencelab.lock.attempt granted /a: 1, 2s",
		"fencelab.lock.attempt locked /a: 1, 1s",
		"fencelab.lock.held /a: 1",
		"fencelab.lock.renewals failed /a: 1",
		"fencelab.lock.renewals renewed /a: 1",
		"fencelab.lock.waiting /a: 1",
	}
	claims(t.Context(), o)
	if got := series(t, reader); !slices.Equal(got, want) {
		t.Errorf("there are\n%q, want\n%q", got, want)
	}
	say(lock.Lost, lock.ErrLost, 4*time.Second)
	want = slices.Insert(want, 7, "fencelab.lock.tenure lost /a: 1, 4s")
	want[4] = "fencelab.lock.held /a: 0"
	if got := series(t, reader); !slices.Equal(got, want) {
		t.Errorf("there are\n%q, want\n%q", got, want)
	}
}

// TestMetricsAreDocumented: docs/observe.md has each metric, by the name that it has for
// Prometheus.
func TestMetricsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/observe.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("../../../pkg/observe/observeotel/observeotel.go")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`"(fencelab\.[a-z.]+)"`).FindAllSubmatch(source, -1)
	if len(names) != 6 {
		t.Errorf("%d metrics were found, want 6", len(names))
	}
	for _, name := range names {
		if want := strings.ReplaceAll(string(name[1]), ".", "_"); !bytes.Contains(page, []byte("`"+want)) {
			t.Errorf("docs/observe.md does not name %s", want)
		}
	}
}

// series are all values as "NAME ATTRIBUTES: VALUE", in order; of a histogram how many, and
// their sum.
func series(t *testing.T, r metric.Reader) (all []string) {
	t.Helper()
	var data metricdata.ResourceMetrics
	if err := r.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	for _, m := range data.ScopeMetrics[0].Metrics {
		switch d := m.Data.(type) {
		case metricdata.Sum[int64]:
			for _, p := range d.DataPoints {
				all = append(all, fmt.Sprintf("%s %s: %d", m.Name, values(p.Attributes), p.Value))
			}
		case metricdata.Histogram[float64]:
			for _, p := range d.DataPoints {
				all = append(all, fmt.Sprintf("%s %s: %d, %v%s", m.Name, values(p.Attributes), p.Count, p.Sum, m.Unit))
			}
		}
	}
	slices.Sort(all)
	return all
}

func values(s attribute.Set) string {
	var all []string
	for _, a := range s.ToSlice() {
		all = append(all, a.Value.AsString())
	}
	return strings.Join(all, " ")
}

func TestTraces(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	tracer := trace.NewTracerProvider(trace.WithSpanProcessor(spans)).Tracer("test")
	o, err := observeotel.New(noopmetric.Meter{}, tracer)
	if err != nil {
		t.Fatal(err)
	}
	ctx, work := tracer.Start(t.Context(), "work")
	for _, e := range []lock.Event{
		{Kind: lock.Asked, Op: "lock", Scope: scope},
		{Kind: lock.NotGranted, Op: "trylock", Scope: scope, Err: lock.ErrLocked},
		{Kind: lock.NotGranted, Op: "lock", Scope: scope, Err: context.Canceled, Took: time.Second},
		{Kind: lock.Granted, Op: "lock", Scope: scope, Grant: grant, Took: 2 * time.Second},
		{Kind: lock.Renewed, Scope: scope, Grant: grant},
		{Kind: lock.RenewalFailed, Scope: scope, Grant: grant, Err: errors.New("no answer")},
		{Kind: lock.Lost, Scope: scope, Grant: grant, Err: lock.ErrCutOff, Took: 4 * time.Second},
		{Kind: lock.Released, Op: "unlock", Scope: scope, Grant: grant, Took: 8 * time.Second},
	} {
		o.Observe(ctx, e)
	}
	claims(ctx, o)
	work.End()
	var got []string
	for _, s := range spans.Ended() {
		if s.Name() != "work" && s.Parent().SpanID() != work.SpanContext().SpanID() {
			t.Errorf("%s is no child of the span of the call", s.Name())
		}
		said := s.Name()
		for _, a := range s.Attributes() {
			if a.Key == "lock.result" || a.Key == "lock.token" {
				said += " " + a.Value.String()
			}
		}
		if s.Name() != "work" {
			said += fmt.Sprintf(" %v", s.EndTime().Sub(s.StartTime()))
		}
		said += " " + s.Status().Code.String()
		for _, e := range s.Events() {
			said += ", " + e.Name
		}
		got = append(got, said)
	}
	want := []string{
		"trylock locked 0s Unset",
		"lock cancelled 1s Error",
		"lock granted 7 2s Unset",
		"tenure cut_off 7 4s Error",
		"tenure released 7 8s Unset",
		"work Unset, renewal failed, claim refused",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the spans are\n%q, want\n%q", got, want)
	}
}
