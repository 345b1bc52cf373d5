// Package observeotel measures and traces by OpenTelemetry what becomes of locks and claims.
//
//	o, err := observeotel.New(otel.Meter("orders"), otel.Tracer("orders"))
//	…
//	backend = lock.Observe(backend, o)
//	guard = fence.Watch(guard, o.Claim)
//
// The metrics, and what to make of them, are in docs/observe.md at the root of the repository.
// The attribute scope of a metric is the name of the lock for the first observe.MaxScopes of
// them, and (other) for the rest.
//
// An attempt is a span, and so is a tenure. Both are children of the span in the context of the
// call, and have the name of the lock and its token. A renewal that fails, and a claim that is
// refused, are events of that span.
package observeotel

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/observe"
)

// Observer is for any number of Backends and Guards.
type Observer struct {
	tracer trace.Tracer
	scopes observe.Scopes

	waiting, held    metric.Int64UpDownCounter
	attempts, tenure metric.Float64Histogram
	renewals, claims metric.Int64Counter
}

var _ lock.Observer = (*Observer)(nil)

// New returns an observer. Who wants no metrics or no traces gives the Meter or the Tracer of
// a package noop.
func New(m metric.Meter, t trace.Tracer) (*Observer, error) {
	var failed [6]error
	o := &Observer{tracer: t}
	o.waiting, failed[0] = m.Int64UpDownCounter("fencelab.lock.waiting", metric.WithDescription("Calls that ask for the lock."))
	o.held, failed[1] = m.Int64UpDownCounter("fencelab.lock.held", metric.WithDescription("Tenures that hold the lock, as far as this process knows."))
	o.attempts, failed[2] = m.Float64Histogram("fencelab.lock.attempt", metric.WithUnit("s"), metric.WithDescription("How long attempts took, by result."))
	o.tenure, failed[3] = m.Float64Histogram("fencelab.lock.tenure", metric.WithUnit("s"), metric.WithDescription("How long the lock was held, by how it ended."))
	o.renewals, failed[4] = m.Int64Counter("fencelab.lock.renewals", metric.WithDescription("Renewals by result."))
	o.claims, failed[5] = m.Int64Counter("fencelab.fence.claims", metric.WithDescription("Claims by judgement."))
	return o, errors.Join(failed[:]...)
}

// Observe implements lock.Observer.
func (o *Observer) Observe(ctx context.Context, e lock.Event) {
	scope := attribute.String("scope", o.scopes.Name(e.Scope))
	by := metric.WithAttributes(scope)
	and := metric.WithAttributes(scope, attribute.String("result", observe.Result(e)))
	switch e.Kind {
	case lock.Asked:
		o.waiting.Add(ctx, 1, by)
	case lock.Granted, lock.NotGranted:
		o.waiting.Add(ctx, -1, by)
		o.attempts.Record(ctx, e.Took.Seconds(), and)
		if e.Kind == lock.Granted {
			o.held.Add(ctx, 1, by)
		}
		o.span(ctx, e.Op, e)
	case lock.Renewed, lock.RenewalFailed:
		o.renewals.Add(ctx, 1, and)
		if e.Err != nil {
			trace.SpanFromContext(ctx).AddEvent(e.Kind.String(), trace.WithAttributes(details(e)...))
		}
	case lock.Lost, lock.Released:
		o.held.Add(ctx, -1, by)
		o.tenure.Record(ctx, e.Took.Seconds(), and)
		o.span(ctx, "tenure", e)
	}
}

// span is what ends with an event.
func (o *Observer) span(ctx context.Context, name string, e lock.Event) {
	end := time.Now()
	_, span := o.tracer.Start(ctx, name, trace.WithTimestamp(end.Add(-e.Took)), trace.WithAttributes(details(e)...))
	if e.Err != nil && !errors.Is(e.Err, lock.ErrLocked) {
		span.SetStatus(codes.Error, e.Err.Error())
	}
	span.End(trace.WithTimestamp(end))
}

func details(e lock.Event) []attribute.KeyValue {
	all := []attribute.KeyValue{attribute.String("lock.scope", e.Scope), attribute.String("lock.result", observe.Result(e))}
	if e.Grant != (lock.Grant{}) {
		all = append(all, attribute.Int64("lock.token", int64(e.Grant.Token)), attribute.String("lock.owner", e.Grant.Owner), attribute.String("lock.mode", e.Grant.Mode.String()))
	}
	if e.Err != nil {
		all = append(all, attribute.String("error", e.Err.Error()))
	}
	return all
}

// Claim is for fence.Watch, fence.Observe and fencehttp.Options.
func (o *Observer) Claim(ctx context.Context, c fence.Claim, refused error) {
	said := observe.Judgement(refused)
	o.claims.Add(ctx, 1, metric.WithAttributes(attribute.String("scope", o.scopes.Name(c.Scope)), attribute.String("result", said)))
	if refused != nil {
		trace.SpanFromContext(ctx).AddEvent("claim refused", trace.WithAttributes(
			attribute.String("fence.scope", c.Scope), attribute.Int64("fence.token", int64(c.Token)), attribute.String("fence.result", said), attribute.String("error", refused.Error())))
	}
}
