// Package tracing sends OpenTelemetry traces, from client through storage, where it is asked to. It is asked
// by the standard environment variables: with OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 spans go
// there, and without an endpoint nothing is recorded, sent or paid for. The other variables that
// OpenTelemetry defines for endpoint, headers, sampler, service and resource count too.
package tracing

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// provider makes the process's spans; nil while there are none.
var provider atomic.Pointer[sdk.TracerProvider]

// Start has Handler and Transport trace from now on, where the environment names an endpoint; else it does
// nothing. OTEL_SERVICE_NAME goes before service. shutdown sends what is left and ends it. An error says
// which variable cannot be meant so.
func Start(ctx context.Context, service string) (shutdown func(context.Context) error, err error) {
	wanted, err := wanted()
	if err != nil || !wanted {
		return func(context.Context) error { return nil }, err
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", service)), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	return begin(sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about))), nil
}

func begin(p *sdk.TracerProvider) (shutdown func(context.Context) error) {
	provider.Store(p)
	return func(ctx context.Context) error {
		provider.CompareAndSwap(p, nil)
		return p.Shutdown(ctx)
	}
}

// wanted is whether the environment asks for traces, of a kind that is here.
func wanted() (bool, error) {
	const exporter, protocol, tracesProtocol = "OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	endpoint := os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") + os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	e := os.Getenv(exporter)
	if os.Getenv("OTEL_SDK_DISABLED") == "true" || endpoint == "" || e == "none" {
		return false, nil
	}
	if e != "" && e != "otlp" {
		return false, fmt.Errorf("tracing: %s is %q, want otlp or none", exporter, e)
	}
	name := tracesProtocol // which comes before the other one
	if os.Getenv(name) == "" {
		name = protocol
	}
	if p := os.Getenv(name); p != "" && p != "http/protobuf" {
		return false, fmt.Errorf("tracing: %s is %q, want http/protobuf (collectors have it on port 4318)", name, p)
	}
	return true, nil
}

func options(p *sdk.TracerProvider) []otelhttp.Option {
	return []otelhttp.Option{
		otelhttp.WithTracerProvider(p), otelhttp.WithPropagators(propagation.TraceContext{}),
		otelhttp.WithFilter(func(r *http.Request) bool { return !probes[r.URL.Path] }),
	}
}

// probes come every few seconds for ever, and tell nothing that metrics do not.
var probes = map[string]bool{kvhttp.PathHealth: true, kvhttp.PathReady: true, kvhttp.PathMetrics: true}

// Handler traces the requests that h serves. Where there is no tracing it is h.
func Handler(h http.Handler) http.Handler {
	p := provider.Load()
	if p == nil {
		return h
	}
	return otelhttp.NewHandler(h, "storage", options(p)...)
}

// Transport traces the requests that base sends, and tells the server of its
// span. Where there is no tracing it is base. It is for kvhttp.ClientOptions.
func Transport(base http.RoundTripper) http.RoundTripper {
	p := provider.Load()
	if p == nil {
		return base
	}
	return otelhttp.NewTransport(claims{base}, options(p)...)
}

// claims says in the client's span what was asked for under which lock, and what the storage said.
type claims struct{ base http.RoundTripper }

func (c claims) RoundTrip(r *http.Request) (*http.Response, error) {
	span := trace.SpanFromContext(r.Context())
	set := func(key, value string) {
		if value != "" {
			span.SetAttributes(attribute.String(key, value))
		}
	}
	set(kvhttp.AttributeScope, r.Header.Get(fencehttp.HeaderScope))
	set(kvhttp.AttributeToken, r.Header.Get(fencehttp.HeaderToken))
	resp, err := c.base.RoundTrip(r)
	if err == nil {
		set(kvhttp.AttributeOutcome, outcome(resp))
		set(kvhttp.AttributeMark, resp.Header.Get(fencehttp.HeaderMark))
	}
	return resp, err
}

// outcome is what the storage's span says of the outcome, where the headers tell it.
func outcome(resp *http.Response) string {
	switch {
	case resp.Header.Get(fencehttp.HeaderDuplicate) != "":
		return "duplicate"
	case resp.StatusCode < 300:
		return "ok"
	}
	return resp.Header.Get(fencehttp.HeaderRefused)
}
