package kvhttp

import (
	"context"
	"log/slog"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

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
