// Package kvotel traces a database with OpenTelemetry: a span for each verb, and in it one for each
// trip.
//
//	db, err := kvopen.Open(ctx, url, kvotel.Spans(otel.GetTracerProvider()))
package kvotel

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Spans makes a database create spans. The span of a verb is named Model.Index.Verb, like
// kv.Work, and is a child of the span in the verb's context; background work has no parent
// span. The span of a trip has its number of ops and any error of the store; an error is set on the
// verb's span, too. No span has keys or values.
func Spans(provider trace.TracerProvider) kvmodel.Option {
	t := tracer{provider.Tracer("github.com/ringtree/ringtree")}
	return kvmodel.Observe(kvmodel.Hooks{Verb: t.verb, Trip: t.trip})
}

type tracer struct{ trace.Tracer }

func (t tracer) verb(ctx context.Context, w kv.Work) (context.Context, func()) {
	ctx, span := t.Start(ctx, w.String(), trace.WithAttributes(
		attribute.String("ringtree.model", w.Model), attribute.String("ringtree.index", w.Index), attribute.String("ringtree.verb", w.Verb)))
	return ctx, func() { span.End() }
}

func (t tracer) trip(ctx context.Context, trip kv.Trip) {
	reads := 0
	for i := range trip.Ops {
		if !trip.Ops[i].Kind.Writes() {
			reads++
		}
	}
	_, span := t.Start(ctx, "trip", trace.WithTimestamp(trip.Start), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.Int("ringtree.reads", reads), attribute.Int("ringtree.writes", len(trip.Ops)-reads)))
	if trip.Err != nil {
		span.SetStatus(codes.Error, kv.Failure(trip.Err).Error()) // The error itself may contain a key.
		if around := trace.SpanFromContext(ctx); trip.For.Verb != "" {
			around.SetStatus(codes.Error, "a trip has failed")
		}
	}
	span.End(trace.WithTimestamp(trip.Start.Add(trip.Took)))
}
