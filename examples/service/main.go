// Command service is a small HTTP service that has all of the library: replicas of which one
// leads, a fence in front of what the leader writes, metrics, and traces.
//
//	go run ./cmd/gcsim etcd --listen 127.0.0.1:2379
//	go run ./examples/service -listen 127.0.0.1:8081 -data report.db
//	go run ./examples/service -listen 127.0.0.1:8082
//	curl http://127.0.0.1:8081/report http://127.0.0.1:8081/leader http://127.0.0.1:8082/metrics
//	curl -i -X PUT -H 'Fencing-Token: 1' -d late http://127.0.0.1:8081/report
//
// Each replica stands for leader, and the leader writes a report every second. The replica with -data
// keeps the report, and refuses what an earlier leader writes, as the last command does. While the other
// one leads, stop that one (kill -STOP) for 10 s. Traces go to where OTEL_EXPORTER_OTLP_ENDPOINT says.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.etcd.io/bbolt"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/fencelab/fencelab/pkg/fence/fencebolt"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
	"github.com/fencelab/fencelab/pkg/observe/observeotel"
	"github.com/fencelab/fencelab/pkg/observe/observeprom"
)

var (
	listen   = flag.String("listen", "127.0.0.1:8081", "address of this replica")
	keeper   = flag.String("keeper", "http://127.0.0.1:8081", "the replica that keeps the report")
	data     = flag.String("data", "", "file of the report, for the replica that keeps it")
	endpoint = flag.String("etcd", "127.0.0.1:2379", "address of etcd")
)

// report is what the leader writes, and the lock that guards it.
const report = "/report"

func scope(*http.Request) string { return report }

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); ctx.Err() == nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	var traced []trace.TracerProviderOption
	if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" {
		exporter, err := otlptracehttp.New(ctx)
		if err != nil {
			return err
		}
		traced = append(traced, trace.WithBatcher(exporter))
	}
	provider := trace.NewTracerProvider(traced...)
	defer provider.Shutdown(context.WithoutCancel(ctx))
	otel.SetTracerProvider(provider)
	otel.SetTextMapPropagator(propagation.TraceContext{}) // a write is one trace, from the leader to the keeper
	tracing, err := observeotel.New(noop.Meter{}, provider.Tracer("service"))
	if err != nil {
		return err
	}
	metrics := observeprom.New()
	prometheus.MustRegister(metrics)
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{*endpoint}})
	if err != nil {
		return err
	}
	defer etcd.Close()
	locks, err := etcdlock.New(etcd, 5*time.Second)
	if err != nil {
		return err
	}
	http.Handle("GET /metrics", promhttp.Handler())
	http.HandleFunc("GET /leader", func(w http.ResponseWriter, r *http.Request) {
		state, err := locks.Inspect(r.Context(), report)
		fmt.Fprintf(w, "%+v %v\n", state.Holders, err)
	})
	if *data != "" {
		db, err := bbolt.Open(*data, 0o600, &bbolt.Options{Timeout: time.Second})
		if err != nil {
			return err
		}
		defer db.Close()
		if err := db.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucketIfNotExists([]byte(report)); return err }); err != nil {
			return err
		}
		store := &fencebolt.Store{DB: db, Bound: etcdlock.Bound(etcd, time.Second)}
		http.Handle(report, fencehttp.Middleware(store, fencehttp.Options{Scope: scope, Report: metrics.Claim})(keeping{db}))
	}
	ended := make(chan error, 2)
	go func() { ended <- http.ListenAndServe(*listen, otelhttp.NewHandler(http.DefaultServeMux, "service")) }()
	client := &http.Client{Timeout: 5 * time.Second, Transport: &fencehttp.Transport{Base: otelhttp.NewTransport(nil), Scope: scope}}
	go func() {
		observed := lock.Observe(lock.Observe(locks, metrics), tracing)
		ended <- lock.Lead(lock.WithWords(ctx, *listen), observed, report, func(ctx context.Context, _ lock.Grant) error {
			for ; ctx.Err() == nil; time.Sleep(time.Second) { // ctx carries the claim, and the client shows it
				req, err := http.NewRequestWithContext(ctx, http.MethodPut, *keeper+report, strings.NewReader(*listen+" leads\n"))
				if err != nil {
					return err
				}
				resp, err := client.Do(req)
				if err != nil {
					return errors.Join(lock.ErrStepDown, err) // another one may reach the keeper
				}
				resp.Body.Close()
			}
			return context.Cause(ctx)
		})
	}()
	return <-ended
}

// keeping keeps the report. It writes in the transaction of the fence.
type keeping struct{ *bbolt.DB }

func (k keeping) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		_ = k.View(func(tx *bbolt.Tx) error { _, err := w.Write(tx.Bucket([]byte(report)).Get([]byte(report))); return err })
		return
	}
	body, err := io.ReadAll(r.Body)
	if err = errors.Join(err, fencebolt.Tx(r.Context()).Bucket([]byte(report)).Put([]byte(report), body)); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}
