package tracing

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/pkg/fence"
)

// storage is a whole one, and a client of it. It notes each request's headers.
func storage(t *testing.T, log io.Writer) (client *kvhttp.Client, url string, headers *[]http.Header) {
	headers = new([]http.Header)
	h := Handler(kvhttp.NewHandler(kv.NewMemory(kv.Options{}), kvhttp.Options{Logger: slog.New(slog.NewTextHandler(log, nil))}))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*headers = append(*headers, r.Header.Clone())
		h.ServeHTTP(w, r)
	}))
	client = kvhttp.NewClient(srv.URL, kvhttp.ClientOptions{Around: Transport})
	t.Cleanup(func() { client.Close(); srv.Close() })
	return client, srv.URL, headers
}

// record has spans recorded in memory until the test ends.
func record(t *testing.T) *tracetest.SpanRecorder {
	spans := tracetest.NewSpanRecorder()
	shutdown := begin(sdk.NewTracerProvider(sdk.WithSpanProcessor(spans)))
	t.Cleanup(func() {
		if err := shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return spans
}

func write(t *testing.T, c *kvhttp.Client, scope string, token fence.Token) error {
	t.Helper()
	_, err := c.Write(t.Context(), kv.Request{Claim: fence.Claim{Scope: scope, Token: token}}, "orders/7", "x")
	return err
}

// attributes are those of a span that begin with "fencing." and its route.
func attributes(s sdk.ReadOnlySpan) map[string]string {
	all := make(map[string]string)
	for _, a := range s.Attributes() {
		if strings.HasPrefix(string(a.Key), "fencing.") || a.Key == "http.route" {
			all[string(a.Key)] = a.Value.AsString()
		}
	}
	return all
}

func wantAttributes(t *testing.T, s sdk.ReadOnlySpan, want ...string) {
	t.Helper()
	var got []string
	for k, v := range attributes(s) {
		got = append(got, k+"="+v)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("span %q has %q, want %q", s.Name(), got, want)
	}
}

// TestOneTraceFromClientThroughStorage, also of a refused request, whose log line
// names it.
func TestOneTraceFromClientThroughStorage(t *testing.T) {
	spans := record(t)
	var log bytes.Buffer
	client, _, _ := storage(t, &log)
	if err := write(t, client, "/lock", 34); err != nil {
		t.Fatal(err)
	}
	if err := write(t, client, "/lock", 33); !errors.Is(err, fence.ErrStale) {
		t.Fatalf("got %v, want ErrStale", err)
	}
	ended := wait(t, spans, 4)
	for i, outcome := range []string{"ok", "stale"} {
		server, client := pair(t, ended, outcome)
		if server.SpanContext().TraceID() != client.SpanContext().TraceID() || server.Parent().SpanID() != client.SpanContext().SpanID() || !server.Parent().IsRemote() {
			t.Errorf("%s: the storage's span %+v is no child of the client's, %+v", outcome, server.SpanContext(), client.SpanContext())
		}
		if server.Name() != "PUT /v1/kv/{key}" {
			t.Errorf("the storage's span is named %q", server.Name())
		}
		token := []string{"34", "33"}[i]
		mine := []string{"fencing.outcome=" + outcome, "fencing.scope=/lock", "fencing.token=" + token}
		if outcome == "stale" {
			mine = append([]string{"fencing.mark=34"}, mine...)
		}
		wantAttributes(t, client, mine...)
		wantAttributes(t, server, append(mine, "http.route=/v1/kv/{key}")...)
	}
	refused, _ := pair(t, ended, "stale")
	if want := "trace=" + refused.SpanContext().TraceID().String(); !strings.Contains(log.String(), want) {
		t.Errorf("no %s in the log: %s", want, log.String())
	}
}

// wait is for n spans: a server's ends after its answer has gone.
func wait(t *testing.T, spans *tracetest.SpanRecorder, n int) []sdk.ReadOnlySpan {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if ended := spans.Ended(); len(ended) >= n {
			return ended
		}
	}
	t.Fatalf("want %d spans, got %d", n, len(spans.Ended()))
	return nil
}

// pair are the storage's and the client's span of an outcome.
func pair(t *testing.T, spans []sdk.ReadOnlySpan, outcome string) (server, client sdk.ReadOnlySpan) {
	t.Helper()
	for _, s := range spans {
		switch {
		case attributes(s)[kvhttp.AttributeOutcome] != outcome:
		case s.SpanKind() == trace.SpanKindServer:
			server = s
		case s.SpanKind() == trace.SpanKindClient:
			client = s
		}
	}
	if server == nil || client == nil {
		t.Fatalf("want two spans of outcome %s, got %v and %v", outcome, server, client)
	}
	return server, client
}

// TestContribLockIsTraced: scope and token are in the body there.
func TestContribLockIsTraced(t *testing.T) {
	spans := record(t)
	_, url, _ := storage(t, io.Discard)
	for _, version := range []string{"34", "33"} {
		resp, err := http.Post(url, "application/json", strings.NewReader(`{"op":"write","key":"a","val":"x","version":`+version+`}`))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	ended := wait(t, spans, 2)
	wantAttributes(t, ended[0], "fencing.outcome=ok", "fencing.scope=a", "fencing.token=34", "http.route=/")
	wantAttributes(t, ended[1], "fencing.mark=34", "fencing.outcome=stale", "fencing.scope=a", "fencing.token=33", "http.route=/")
}

func TestProbesAreNotTraced(t *testing.T) {
	spans := record(t)
	_, url, _ := storage(t, io.Discard)
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/v1/floor"} {
		resp, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	if ended := wait(t, spans, 1); len(ended) != 1 || ended[0].Name() != "GET /v1/floor" {
		t.Errorf("%d spans, the first is %q", len(ended), ended[0].Name())
	}
}

// TestNoTracingCostsNothing: without an endpoint handler and transport are as they
// were, and no header goes out.
func TestNoTracingCostsNothing(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "")
	shutdown, err := Start(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	defer shutdown(t.Context())
	base := &http.Transport{}
	if got := Transport(base); got != http.RoundTripper(base) {
		t.Errorf("the transport became %T", got)
	}
	h := http.NewServeMux()
	if got := Handler(h); got != http.Handler(h) {
		t.Errorf("the handler became %T", got)
	}
	var log bytes.Buffer
	client, _, headers := storage(t, &log)
	_ = write(t, client, "/lock", 34)
	_ = write(t, client, "/lock", 33)
	for _, h := range *headers {
		if h.Get("Traceparent") != "" {
			t.Errorf("a request told of a trace: %v", h)
		}
	}
	if !strings.Contains(log.String(), "refused") || strings.Contains(log.String(), "trace=") {
		t.Errorf("the log says %s", log.String())
	}
}

// TestStartSendsToTheEndpoint that the environment names, under the service's
// name.
func TestStartSendsToTheEndpoint(t *testing.T) {
	got := make(chan []byte, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/v1/traces" {
			got <- b
		}
	}))
	defer srv.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", srv.URL)
	shutdown, err := Start(t.Context(), "fencelab-storage")
	if err != nil {
		t.Fatal(err)
	}
	client, _, headers := storage(t, io.Discard)
	if err := write(t, client, "/lock", 34); err != nil {
		t.Fatal(err)
	}
	if len(*headers) != 1 || (*headers)[0].Get("Traceparent") == "" {
		t.Errorf("the storage was not told of the trace: %v", *headers)
	}
	if err := shutdown(t.Context()); err != nil { // sends what is left
		t.Fatal(err)
	}
	var export collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(<-got, &export); err != nil {
		t.Fatal(err)
	}
	name := ""
	for _, a := range export.ResourceSpans[0].Resource.Attributes {
		if a.Key == "service.name" {
			name = a.Value.GetStringValue()
		}
	}
	if name != "fencelab-storage" {
		t.Errorf("the service is named %q", name)
	}
	if base := http.DefaultTransport; Transport(base) != base {
		t.Error("tracing goes on after its end")
	}
}

func TestStartRefusesWhatItCannotDo(t *testing.T) {
	for name, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_PROTOCOL":        "grpc",
		"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/json",
		"OTEL_TRACES_EXPORTER":               "zipkin",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
			t.Setenv(name, value)
			if _, err := Start(t.Context(), "test"); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), value) {
				t.Errorf("got %v, want an error that names %s and %s", err, name, value)
			}
		})
	}
	for name, value := range map[string]string{"OTEL_SDK_DISABLED": "true", "OTEL_TRACES_EXPORTER": "none"} {
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
		t.Setenv(name, value)
		if _, err := Start(t.Context(), "test"); err != nil || provider.Load() != nil {
			t.Errorf("%s=%s: %v, and tracing is on: %v", name, value, err, provider.Load() != nil)
		}
		t.Setenv(name, "")
	}
}
